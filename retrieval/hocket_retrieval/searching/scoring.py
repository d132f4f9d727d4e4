"""Score passages by a re-ranker where there is one, by the probability of relevance.py, or by the bare cosine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..embedding.embedder import Embedder
from ..embedding.reranker import Reranker
from ..stores.protocol import Moment
from ..stores.records import Chunk, Vectors
from ..text.heads import HasNames, above, headed
from .relevance import Telling, placed, scorer_of


class Ranked(NamedTuple):
    """A chunk, and 1 over its place in the ranking of a question, the mean over its forms; 0 where it is in none."""

    chunk: Chunk
    rank: float


class Scoring:
    """A scorer of passages by any of `names`, the best first: two sides that use one of the same name score alike."""

    def __init__(self, embedder: Embedder, reranker: Reranker | None) -> None:
        self._reranker = reranker
        self._cosine = embedder.fingerprint
        self._probability = scorer_of(self._cosine)
        self.names = [*([reranker.fingerprint] if reranker else []), self._probability, self._cosine]

    def offered(self, scorer: str) -> str:
        """Return the scorer of this name, or the best where none has it."""
        return scorer if scorer in self.names else self.names[0]

    def reranks(self, scorer: str) -> bool:
        """Tell whether this scorer reads question and passage together, which takes the most time."""
        return self._reranker is not None and scorer == self._reranker.fingerprint

    def reranked(self, query: str, passages: Sequence[HasNames]) -> list[float]:
        """Score passages by the re-ranker, which needs no vectors."""
        assert self._reranker is not None
        return [float(score) for score in self._reranker.score(query, list(map(headed, passages)))]

    def score(
        self, moment: Moment, scorer: str, query: str, vector: Vectors, passages: Sequence[tuple[HasNames, Vectors]]
    ) -> list[float]:
        """Score passages, each with its vector of length 1, against a query and its vector; by one of `names`."""
        if self.reranks(scorer):
            return self.reranked(query, [each for each, _ in passages])
        near = cosines(vector, [each for _, each in passages])
        if scorer == self._cosine:
            return near
        telling = Telling.of(moment, query, self._cosine)
        return [
            telling.probability(cosine, each.text, above(each))
            for cosine, (each, _) in zip(near, passages, strict=True)
        ]

    def together(
        self, moment: Moment, scorer: str, forms: Sequence[tuple[str, Vectors]], form: int, found: Sequence[Ranked]
    ) -> list[float]:
        """Score what all forms of a question find; all scorers but the probability compare with this form alone."""
        passages = [(chunk, chunk.vector) for chunk, _ in found]
        if scorer != self._probability:
            return self.score(moment, scorer, *forms[form], passages)
        by_form = [self.score(moment, scorer, *each, passages) for each in forms]
        return [placed(scores, rank) for scores, (_, rank) in zip(zip(*by_form, strict=True), found, strict=True)]


def cosines(vector: Vectors, vectors: Sequence[Vectors]) -> list[float]:
    """The cosines of vectors to one, all of length 1."""
    return [float(cosine) for cosine in np.clip(np.stack(vectors) @ vector, -1, 1)] if len(vectors) else []
