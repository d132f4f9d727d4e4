"""Several answers written at home at once, in the compute thread's batches, for the gate `answers`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from statistics import fmean

from hocket_bus.errors import HocketError
from hocket_bus.messages import GateDecision, Passages, Weigh
from hocket_retrieval.text.heads import headed

from ..engine.generators.generation import Drawn, Generated, Generation
from ..engine.runtime.sequences import read_text
from ..engine.sampling.drawing import Rule
from ..engine.text.detokenizer import Detokenizer, Transcript
from ..serving.search.retrieval import Lookups
from ..serving.services import Services
from .answers import Candidate, judge

TEMPERATURE, TOP_P = 0.8, 0.95
TOKENS = 32
READ = 2  # passages that a candidate is written from


class Candidates:
    """The answers to one question: written, compared, and reported as one decision, unless `close` comes first."""

    def __init__(
        self, services: Services, lookups: Lookups, number: int, done: Callable[[GateDecision | HocketError], None]
    ) -> None:
        self._services, self._lookups, self._number, self._done = services, lookups, number, done
        self._writing: list[Generation] = []
        self._left = number
        self._failed: HocketError | None = None
        self._cosines: list[list[float]] = []
        self._scorer = ""
        self._closed = False

    def start(self, question: str, found: Passages) -> None:
        """Begin to write all of them."""
        texts = list(map(headed, found.passages[:READ]))
        prompt = "\n\n".join([*texts, question])
        self._scorer = next((each for each in found.scorers if each.startswith("cosine:")), "")
        for seed in range(self._number):
            self._writing.append(self._write(prompt, seed))

    def close(self) -> None:
        """Stop: nobody waits any more."""
        self._closed = True
        for each in self._writing:
            each.cancel()

    def _write(self, prompt: str, seed: int) -> Generation:
        model = self._services.model
        return Generation(
            self._services.compute,
            read_text(model, prompt, task="answer", room=TOKENS, prefix=""),
            Rule(seed, TEMPERATURE, TOP_P),
            1.0,
            Transcript(Detokenizer(model.text, (), strip=True), model.eos, TOKENS),
            on_token=lambda _, __: None,
            on_end=self._on_end,
            watches=True,
        )

    def _on_end(self, end: Generated | HocketError) -> None:
        self._left -= 1
        if isinstance(end, HocketError):
            self._failed = end
        if self._closed or self._left:
            return
        if self._failed is not None:
            self._done(self._failed)
        else:
            self._compare(0)

    def _compare(self, at: int) -> None:
        """Request the cosines of candidate `at` with all, and then those of the next; after the last, judge."""
        texts = [each.text for each in self._candidates()]
        if at == len(texts) or not all(texts):
            self._done(judge(self._candidates(), self._cosines))
            return

        def scored(outcome: list[float] | HocketError) -> None:
            if self._closed:
                return
            if isinstance(outcome, HocketError):
                self._done(outcome)
            else:
                self._cosines.append(outcome)
                self._compare(at + 1)

        weigh = Weigh(request=os.urandom(16), query=texts[at], texts=texts, scorer=self._scorer)
        self._lookups.ask(weigh, scored)

    def _candidates(self) -> list[Candidate]:
        return [_candidate(each.text, each.drawn) for each in self._writing]


def _candidate(text: str, drawn: Sequence[Drawn]) -> Candidate:
    if not drawn:
        return Candidate(text, 0.0, 0.0)
    return Candidate(text, fmean(each.log_probability for each in drawn), fmean(each.entropy for each in drawn))
