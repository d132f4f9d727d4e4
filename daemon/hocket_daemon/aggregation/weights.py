"""The weights of one session's passages at every step: asked of the retrieval daemon ahead of time, kept by query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket_bus.errors import HocketError
from hocket_bus.messages import Begin, Passage, Passages

from ..engine.runtime.likelihood import NOTHING_HEARD
from ..serving.prefix import PrefixChain
from ..serving.relevance import weigh
from .relevance import REWEIGHED, compared, query, weighed_by

Scorer = Callable[[str, list[Passage], str, Callable[[list[float] | HocketError], None]], None]


@dataclass(frozen=True, slots=True)
class Weighing:
    """The documents' weights within the side, and the side's log h."""

    documents: list[float]
    log_h: float | None


class RelevanceWeights:
    """Off: every passage weighs the same. Static: by the question. Dynamic: by the answer so far, too.

    Likelihood: dynamic, and at every step by how much of the question the passage explains, and what the answer led to.
    """

    def __init__(
        self,
        begin: Begin,
        found: Passages,
        scorer: Scorer,
        decode: Callable[[list[int]], str],
        *,
        on_news: Callable[[], None],
        on_static: Callable[[HocketError], None],
    ) -> None:
        """`scorer` asks how well passages match a text, by a named scorer, and hands over scores in their order.

        `decode` turns answer ids into text; `on_news` is called when weights have come that may be waited for,
        `on_static` once where there will be no more: what is not weighed yet is weighed by the question alone.
        """
        self._begin = begin
        self._found = found
        self._scorer = scorer
        self._decode = decode
        self._on_news = on_news
        self._on_static = on_static
        self._dynamic = begin.weights in REWEIGHED and bool(found.passages)
        self._scores = [0.0 if begin.weights == "off" else passage.score for passage in found.passages]
        self._likelihoods = NOTHING_HEARD
        self._static = self._weighing(self._scores)
        self._queries: dict[int, str] = {}  # by prefix
        self._by_query: dict[str, Weighing | None] = {begin.question: self._static}  # None: asked for

    def hear(self, likelihoods: NDArray[np.float64]) -> None:
        """How likely each passage makes the question's tokens: told before any step is weighed."""
        self._likelihoods = likelihoods
        self._static = self._weighing(self._scores)
        self._by_query[self._begin.question] = self._static

    @property
    def static(self) -> Weighing:
        """The weights by the question alone."""
        return self._static

    def of(self, step: int, drafted: PrefixChain) -> Weighing | None:
        """The weights of `step` behind `drafted`; None while they are on their way."""
        if not self._dynamic:
            return self._static
        every, room = self._begin.reweigh_every, self._begin.sampling.max_tokens
        length = every * (len(drafted) // every)
        if length + every < room:  # otherwise there is no step left that it would weigh
            self._ask(self._query(length, drafted))
        return self._ask(self._query(weighed_by(step, every), drafted))

    def _query(self, length: int, drafted: PrefixChain) -> str:
        prefix = drafted.at(length)
        if prefix not in self._queries:
            self._queries[prefix] = query(self._begin.question, self._decode(drafted.ids[:length]))
        return self._queries[prefix]

    def _ask(self, text: str) -> Weighing | None:
        if text not in self._by_query:
            self._by_query[text] = None
            found = self._found
            self._scorer(text, found.passages, found.scorer, lambda outcome: self._on_scores(text, outcome))
        return self._by_query[text]

    def _on_scores(self, text: str, outcome: list[float] | HocketError) -> None:
        if isinstance(outcome, HocketError):
            if self._dynamic:
                self._dynamic = False
                self._on_static(outcome)
        else:
            self._by_query[text] = self._weighing(compared(self._begin.weights, outcome, self._scores))
        self._on_news()

    def _weighing(self, scores: list[float]) -> Weighing:
        return Weighing(*weigh(scores, self._begin.relevance_temperature, self._likelihoods))
