"""A side's text from its own documents: searched, read, and written after a prefix for as long as it is to be.

Both sides write in this way, a device for itself and a cloud for its device. Each token is drawn with the one noise of
seed and step, so equal models after an equal prompt write the same answer wherever it changes sides. A writer knows no
race and no other side.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from hocket_bus.errors import HocketError
from hocket_bus.messages import Dispatch, Passage, Passages, Side
from hocket_retrieval.text.heads import headed

from ...engine.preemption import Interrupt
from ...engine.runtime.compute import Decoded
from ...engine.runtime.drafts_of import drafts_of, room_of
from ...engine.runtime.grounded import Grounded
from ...engine.runtime.own_drafts import Own, OwnDraft
from ...engine.runtime.sequences import SequenceGroup, read, rows_of
from ...engine.sampling.drawing import Rule, sample
from ...engine.sampling.heads import Heads, Made, Table, contrast_of, within
from ...engine.sampling.ranking import UNRANKED, Ranking, ranking
from ...engine.sampling.step_rows import step_rows
from ...engine.text.word_draw import Proposal
from ...engine.text.words import END, number_of
from ...serving.search.gatherer import Find, nothing
from ...serving.search.passage_weights import weigh
from ...serving.services import Services
from ...serving.stream.prefix import PrefixChain
from .work import Work
from .writers import WritingSession

Goal = Literal["hold", "stand", "write"]


class _Drawn(NamedTuple):
    """The next step of the answer, and each passage's part in it."""

    step: int
    part: Table | None
    ranking: Ranking


@dataclass(slots=True, eq=False)
class _Drafting:
    """A step that is being drawn, and the decode step that it waits for."""

    draft: OwnDraft
    interrupt: Interrupt = field(default_factory=Interrupt)


class LocalWriter:
    """The OwnWriter that uses a model of this daemon's."""

    continues = True

    def __init__(
        self,
        services: Services,
        opening: Dispatch,
        chain: PrefixChain,
        session: WritingSession,
        side: Side,
        *,
        find: Find,
    ) -> None:
        """Create it; `chain` holds the answer's tokens and belongs to the session; `side` is the one that writes."""
        self.work = Work()
        self.found: Passages | None = None
        self._parts: dict[int, Table | None] = {}  # each passage's part in the tokens that were written here, by step
        self.closed = False
        self._services = services
        self._opening = opening
        self._chain = chain
        self._session = session
        self._side: Side = side
        self._rule = Rule(opening.sampling.seed, opening.sampling.temperature, opening.sampling.top_p)
        self._ends = number_of(END) if opening.unit == "word" else None
        self._drafts = drafts_of(
            services.model,
            opening.unit,
            opening.sampling,
            mass=opening.wire_mass,
            ends=bool(opening.eos),
            grammar=services.grammars.of(opening.sampling.grammar),
        )
        self._find, self._stop_finding = find, nothing
        self._weights: list[float] = []
        self._reads = False  # the prompt is to be read, as soon as the passages are there
        self._began_s = 0.0
        self._grounded = Grounded(services.compute, self._count_read)
        self._goal: Goal = "hold"
        self._steps: list[int] = []  # the answer's, and the one behind them that its session is about to hear
        self._known: _Drawn | None = None  # what comes behind them
        self._drafting: _Drafting | None = None  # what comes behind them, under way

    @property
    def passages(self) -> list[Passage]:
        """The passages that were found; none before the search has answered."""
        return self.found.passages if self.found is not None else []

    @property
    def has_read(self) -> bool:
        """Tell whether the prompt is read."""
        return self._grounded.has_read

    @property
    def rows(self) -> int:
        """The number of rows that hold the prompt."""
        return rows_of(len(self.passages), alone=bool(self._opening.contrast))

    def part(self, step: int) -> Table | None:
        """Return each passage's part in the token of a step, if it was written here."""
        return self._parts.get(step)

    # --- what it is told

    def start(self) -> None:
        """Find the passages."""
        self._services.compute.run(self._drafts.prepare, lambda _: None)
        self._stop_finding = self._find(self._on_found)

    def read(self) -> None:
        """Read the prompt, as soon as the passages are there. Again does no harm."""
        if self._reads or self._grounded.has_read:
            return
        self._reads = True
        if self.found is not None:
            self._prefill(self.found)

    def stand(self) -> None:
        """Compute what follows all tokens so far, and wait to be told to write."""
        self._aim("stand")

    def write(self) -> None:
        """Go on after all tokens so far, until the text ends or another side goes on."""
        self._aim("write")

    def pause(self) -> None:
        """Decode nothing for now; a prompt is read on."""
        self._goal = "hold"
        self._drop_step()

    def hold(self) -> None:
        """Compute no more. A prompt that was read stays, one that is being read is given up."""
        self.pause()
        if self._reads and not self._grounded.has_read:
            self._grounded.give_up()
            self._reads = False

    def end(self, reason: str) -> None:  # noqa: ARG002 - a cloud daemon is told it
        """Free the rows, after whatever the compute thread still does with them."""
        self.closed = True
        self._stop_finding()
        self._drop_step()
        self._grounded.close()

    # --- reading

    def _on_found(self, outcome: Passages | HocketError) -> None:
        if self.closed:
            return
        if isinstance(outcome, HocketError):
            self._session.on_failed(self._side, outcome)
            return
        self.found, self.work.retrieval_s = outcome, outcome.seconds
        if self._reads:
            self._prefill(outcome)
        self._session.on_found()

    def _prefill(self, found: Passages) -> None:
        opening, self._began_s = self._opening, time.monotonic()
        texts = list(map(headed, found.passages))
        model, room = self._services.model, room_of(opening.unit, opening.sampling)
        reading = read(
            model,
            self._services.reading.prompt(opening.prompt, texts),
            texts,
            task=opening.task,
            room=room,
            likelihood=bool(texts),
            alone=bool(opening.contrast),
        )
        self._grounded.read(reading, self._on_prefilled)

    def _on_prefilled(self, outcome: SequenceGroup | HocketError) -> None:
        if isinstance(outcome, HocketError):
            self._session.on_failed(self._side, outcome)
            return
        scores = [passage.score for passage in self.passages]
        self._weights = weigh(scores, self._opening.relevance_temperature, outcome.likelihoods)[0]
        self.work.prompt = sum(map(len, outcome.prompts))
        self.work.prefill_s = time.monotonic() - self._began_s
        self._session.on_read(self._side)
        self._go_on()

    # --- writing

    def _aim(self, goal: Goal) -> None:
        self.read()
        if self._chain.ids != self._steps:
            self._drop_step()
            self._steps, self._known = list(self._chain.ids), None
        self._goal = goal
        self._go_on()

    def _go_on(self) -> None:
        """Report what is known to follow the tokens, or decode it."""
        if self.closed or not self.has_read or self._goal == "hold" or self._drafting is not None:
            return
        if self._known is None:
            self._drafting = _Drafting(self._drafts.begin(self._steps))
            self._decode(self._drafting)
        elif self._goal == "stand":
            self._session.on_writer_status(self._side)
        else:
            self._publish(self._known)

    def _decode(self, drafting: _Drafting) -> None:
        weights, opening, draft = self._weights, self._opening, drafting.draft
        ends = opening.eos and self._services.model.eos
        contrast = contrast_of(opening.contrast, ends, len(self.passages), len(draft.ids))
        at = len(self._steps)

        def then(heads: Heads) -> _Drawn | None:
            own = draft.add(heads, weights, contrast)
            return None if own is None else self._drawn(at, own)

        def done(outcome: Decoded[_Drawn | None] | HocketError, _: float) -> None:
            self._on_decoded(drafting, outcome)

        rows = step_rows(weights, contrast, one_by_one=self._services.model.rows_cost)
        known = draft.known(rows.places or ())
        if known is None:
            drafting.interrupt = self._grounded.decode(draft.ids, then, done, rows=rows)
        else:
            self._services.compute.run(partial(then, known), lambda drawn: self._on_drawn(drafting, drawn))

    def _drawn(self, at: int, own: Own) -> _Drawn:
        """Draw the step number `at` from the own law, of which a word has been drawn already."""
        law = own.distribution
        if isinstance(law, Proposal):
            return _Drawn(law.word, np.asarray(own.parts[:, 0], np.float64), UNRANKED)
        token = sample(self._rule, at, law)
        most = self._opening.sampling.logprobs
        ranked = UNRANKED if most is None else ranking(law.ids, law.probabilities, token, most)
        return _Drawn(token, within(Made(law, own.parts), token), ranked)

    def _on_decoded(self, drafting: _Drafting, outcome: Decoded[_Drawn | None] | HocketError) -> None:
        if isinstance(outcome, Decoded):
            self._count(outcome, late=drafting is not self._drafting)
        self._on_drawn(drafting, outcome.value if isinstance(outcome, Decoded) else outcome)

    def _on_drawn(self, drafting: _Drafting, drawn: _Drawn | HocketError | None) -> None:
        if drafting is not self._drafting or self.closed:
            return
        if drawn is None:
            self._decode(drafting)
            return
        self._drafting = None
        if isinstance(drawn, HocketError):
            self._session.on_failed(self._side, drawn)
        else:
            self._known = drawn
            self._go_on()

    def _publish(self, known: _Drawn) -> None:
        """Begin the next step, and only then report this one."""
        at = len(self._steps)
        self._parts[at] = known.part
        self._steps.append(known.step)
        self._known = None
        ended = known.step == self._ends if self._ends is not None else known.step in self._opening.eos
        if ended or at + 1 >= self._opening.sampling.max_tokens:
            self._goal = "hold"
        self._go_on()
        self._session.on_token(self._side, at, known.step, known.ranking)

    def _count_read(self, tokens: int) -> None:
        self.work.prefilled += tokens

    def _count(self, decoded: Decoded[_Drawn | None], *, late: bool) -> None:
        self.work.decoded += 1
        self.work.prefilled += decoded.repeated
        self.work.late += late

    def _drop_step(self) -> None:
        if self._drafting is not None:
            self._drafting.interrupt.set()
            self._drafting = None
