"""Finding passages in one state of a store: words and meaning searched apart and fused, older notes left out.

The order is a convex combination of BM25, as a share of its best, and the cosine (Bruch, Gai and Ingber, TOIS 2023), or
the re-ranker's where there is one. A question of a conversation is searched in several forms, and where its best
passage names what another document tells, a second step finds that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import log
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .bridges import Trail
from .embedder import Reranker
from .forms import Form, scoring, together
from .heads import headed, searched
from .lexical import MAX_TERMS, telling_words, words
from .recency import Candidate, Older, settle
from .stores.protocol import Moment
from .stores.records import Chunk, Vectors
from .walk import is_gone
from .windows import text_around

CANDIDATES = 100  # taken from each ranking
MAX_COUNTED = 1_000  # chunks of a word
RERANKED = 24
MEANING = 0.65  # of the weight
SPARE = 4  # candidates more than are wanted: some may be of another time
NEARER = 0.72  # what has none of the words is ahead of what has the rarest only if it is nearer by more
LED_TO = 4  # candidates of the second step, of so many
BY_WORDS = 32


class Sought(NamedTuple):
    """A text that is searched, and its vector."""

    text: str
    vector: Vectors


class Found(NamedTuple):
    """A chunk, and its score."""

    chunk: Chunk
    score: float


class Step(NamedTuple):
    """The best of different windows, one more than was wanted, and what was left out for newer ones.

    The scores are of the question's form of this number. `matched` is the largest share that a chunk has of a form's
    words.
    """

    found: list[Found]
    older: list[Older]
    form: int
    matched: float


class Finding:
    """Searches of one moment, `within` some folders or all; who asks reads windows of `size` chunks."""

    def __init__(self, moment: Moment, within: tuple[str, ...], size: int) -> None:
        self._moment = moment
        self._within = within
        self._size = size
        self.documents, self._chunks = moment.totals()
        self._texts: dict[tuple[str, int], str] = {}

    def text(self, chunk: Chunk) -> str:
        """The text of the window in which a chunk stands."""
        place = chunk.document, chunk.ordinal
        if place not in self._texts:
            self._texts[place] = text_around(self._moment, chunk, self._size)
        return self._texts[place]

    def first(self, asked: Sequence[Sought], k: int, reranker: Reranker | None) -> Step:
        """The best `k` for a question by all its forms, by a re-ranker's scores where there is one."""
        wanted = self._size * (max(k, RERANKED) if reranker else k)  # of a window there may be all chunks
        rankings = [self._ranking(each) for each in asked]
        telling = [_Telling.of(self._moment, each.text, self._chunks) for each in asked[:2]]
        form, order = self._order(asked, rankings, telling[0], k, wanted)
        chunks = list(islice(_different(self._moment.chunks(order)), wanted + SPARE * bool(wanted)))
        query, vector = asked[form]
        scored = _scored(query, vector, chunks, reranker)
        begins = {name: self._moment.chunk_at(name, 0) for name in {chunk.document for chunk in chunks}}
        settled = settle(query, [Candidate(*each, _text(begins[each.chunk.document])) for each in scored])
        found = list(islice(self._of_different_windows(scored[at] for at in settled.kept), k + bool(k)))
        texts = [searched(each.chunk) for each in found[:k]]
        return Step(found, settled.older, form, max(each.matched(texts) for each in telling))

    def led(self, asked: Sought, trail: Trail, step: Step, reranker: Reranker | None) -> Found | None:
        """The best passage of another document that a trail leads to, perhaps one that was found; None without one.

        It scores no more than the passage that led to it: a chain is no stronger than its first link.
        """
        passed = {older.document for older in step.older} | {each.chunk.document for each in step.found[:1]}
        rare = self._rare(asked.text)
        by_words = self._moment.by_words(rare, BY_WORDS, self._within) if rare else {}
        near = list(self._moment.chunks(by_words))  # what has a name has a word: no other is looked for
        order = fuse(
            by_words, {chunk.id: cosine for chunk, cosine in zip(near, cosines(asked.vector, near), strict=True)}
        )
        chunks = islice(_different(self._moment.chunks(order)), LED_TO)
        leads = [chunk for chunk in chunks if chunk.document not in passed and trail.leads_to(chunk)]
        best = next(iter(_scored(*asked, leads, reranker)), None)
        return best and best._replace(score=min(trail.score, best.score))

    def _rare(self, text: str) -> str:
        """The words of a text that are not in MAX_COUNTED chunks: others cost the most time, and lead to nothing."""
        found = telling_words(text)[: 2 * MAX_TERMS]
        return " ".join(word for word in found if self._moment.frequency(word, MAX_COUNTED) < MAX_COUNTED)

    def _ranking(self, asked: Sought) -> list[int]:
        by_words = self._moment.by_words(asked.text, CANDIDATES, self._within)
        return fuse(by_words, self._moment.by_meaning(asked.vector, CANDIDATES, self._within))

    def _order(
        self, asked: Sequence[Sought], rankings: Sequence[list[int]], telling: _Telling, k: int, wanted: int
    ) -> tuple[int, list[int]]:
        """The number of the form whose scores count, and ids, best first, by all forms."""
        if len(asked) == 1:
            return 0, rankings[0]
        ids = dict.fromkeys(id for ranking in rankings for id in ranking[: wanted + SPARE])
        chunks = list(self._moment.chunks(ids))
        forms = [
            Form(
                ranking, {chunk.id: cosine for chunk, cosine in zip(chunks, cosines(each.vector, chunks), strict=True)}
            )
            for each, ranking in zip(asked, rankings, strict=True)
        ]
        form = scoring(forms, k)
        return form, together(forms, form, {chunk.id: telling.share(searched(chunk)) for chunk in chunks})

    def _of_different_windows(self, found: Iterable[Found]) -> Iterator[Found]:
        """The first of each window."""
        seen: set[str] = set()
        for each in found:
            if (text := self.text(each.chunk)) not in seen:
                seen.add(text)
                yield each


class _Telling(NamedTuple):
    """The words of a question that tell something: their inverse document frequencies, and which of them are rare.

    A word that stands nowhere counts most.
    """

    weights: Mapping[str, float]
    rare: frozenset[str]

    @classmethod
    def of(cls, moment: Moment, text: str, chunks: int) -> _Telling:
        frequencies = {word: moment.frequency(word, MAX_COUNTED) for word in telling_words(text)[:MAX_TERMS]}
        few = min(max(2, chunks // 100), MAX_COUNTED - 1)
        weights = {word: log((chunks + 2) / (frequency + 1)) for word, frequency in frequencies.items()}
        return cls(weights, frozenset(word for word, frequency in frequencies.items() if frequency <= few))

    def share(self, text: str) -> float:
        """Sum the weights of the words that a text has, as a share of all, in [0, 1]."""
        total = sum(self.weights.values())
        found = self.weights.keys() & {*words(text)}
        return min(1.0, sum(self.weights[word] for word in found) / total) if total else 0.0  # sums differ in a bit

    def matched(self, texts: Sequence[str]) -> float:
        """The largest share of those that have a rare word; 0 where none has."""
        return max((self.share(text) for text in texts if self.rare & {*words(text)}), default=0.0)


def fuse(by_words: Mapping[int, float], by_meaning: Mapping[int, float]) -> list[int]:
    """Ids by MEANING times the cosine, and for the rest BM25 as a share of its best; ties by the words' ranking.

    What is not among the nearest has the cosine of the last of these: it has no more. What is best by words is not
    behind what has no word and is nearer by at most NEARER: an embedder that is sure must not hide a name.
    """
    best, least = max(by_words.values(), default=1.0), min(by_meaning.values(), default=0.0)
    weights = {
        id: (1 - MEANING) * by_words.get(id, 0.0) / best + MEANING * by_meaning.get(id, least)
        for id in {**by_words, **by_meaning}
    }
    if by_words:
        first = max(by_words, key=lambda id: by_words[id])
        limit = by_meaning.get(first, least) + NEARER
        wordless = (id for id, cosine in by_meaning.items() if id not in by_words and cosine <= limit)
        weights[first] = max([weights[first], *(weights[id] for id in wordless)])
    return sorted(weights, key=lambda id: -weights[id])


def cosines(vector: Vectors, chunks: Sequence[Chunk]) -> list[float]:
    """The cosines of chunks to a vector of length 1."""
    if not chunks:
        return []
    return [float(cosine) for cosine in np.clip(np.stack([chunk.vector for chunk in chunks]) @ vector, -1, 1)]


def _scored(query: str, vector: Vectors, chunks: list[Chunk], reranker: Reranker | None) -> list[Found]:
    if not chunks:
        return []
    if reranker is None:
        return list(map(Found, chunks, cosines(vector, chunks)))
    scores = map(float, reranker.score(query, list(map(headed, chunks))))
    return sorted(map(Found, chunks, scores), key=lambda found: -found.score)


def _text(chunk: Chunk | None) -> str:
    return chunk.text if chunk is not None else ""


def _different(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """The first chunk of each text, or where its file is gone the next one of that text whose file is not."""
    left, seen = iter(chunks), set[str]()
    while (chunk := next(left, None)) is not None:
        if chunk.text in seen:
            continue
        seen.add(chunk.text)
        if not _is_here(chunk):
            rest = list(left)
            left = iter(rest)
            chunk = next((each for each in rest if each.text == chunk.text and _is_here(each)), chunk)
        yield chunk


def _is_here(chunk: Chunk) -> bool:
    return not is_gone(Path(chunk.document))
