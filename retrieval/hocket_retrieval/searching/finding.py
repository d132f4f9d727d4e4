"""Finding passages in one state of a store: words and meaning searched apart, the best of both scored and sorted.

Candidates are taken by a convex combination of BM25, as a share of its best, and the cosine (Bruch, Gai and Ingber,
TOIS 2023); the score that sorts them is the one that is shown (scoring.py). Older notes are left out. A question of a
conversation is searched in several forms, and where its best passage names what another document tells, a second step
finds that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import NamedTuple

from ..ingestion.walk import is_gone
from ..stores.protocol import Moment
from ..stores.records import Chunk, Vectors
from ..text.lexical import MAX_TERMS, telling_words
from .bridges import Trail
from .forms import Form, chosen
from .recency import Candidate, Older, settle
from .relevance import MAX_COUNTED
from .scoring import Ranked, Scoring, cosines
from .windows import text_around

CANDIDATES = 100  # taken from each ranking
SCORED = 12  # candidates at least
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
    """A chunk, its score, and its rank, which is a part of the score (scoring.py)."""

    chunk: Chunk
    score: float
    rank: float = 0.0


class Step(NamedTuple):
    """The best chunks of different windows, one more than was wanted, and documents left out for newer ones.

    `form` is the number of the question's form that the question is about.
    """

    found: list[Found]
    older: list[Older]
    form: int


class Finding:
    """Searches of one state of a store by one scorer, `within` some folders or all, for windows of `size` chunks."""

    def __init__(
        self, moment: Moment, scoring: Scoring, scorer: str, within: tuple[str, ...] = (), size: int = 1
    ) -> None:
        self._moment = moment
        self._scoring, self._scorer = scoring, scorer
        self._within = within
        self._size = size
        self._texts: dict[tuple[str, int], str] = {}

    def text(self, chunk: Chunk) -> str:
        """The text of the window in which a chunk stands."""
        place = chunk.document, chunk.ordinal
        if place not in self._texts:
            self._texts[place] = text_around(self._moment, chunk, self._size)
        return self._texts[place]

    def first(self, asked: Sequence[Sought], k: int) -> Step:
        """Find the best `k` for a question by all its forms."""
        reranks = self._scoring.reranks(self._scorer)
        wanted = max(self._size * k, RERANKED if reranks else SCORED)  # of a window there may be all chunks
        rankings = [self._ranking(each) for each in asked]
        ids = dict.fromkeys(id for placed in zip_longest(*rankings) for id in placed if id is not None)
        number = (wanted + SPARE) * (1 if reranks else len(asked))  # a re-ranker takes long for each
        chunks = list(islice(_different(self._moment.chunks(ids)), number if k else 0))
        form = self._meant(asked, rankings, chunks, k)
        scored = sorted(self._scored(asked, rankings, chunks, form), key=lambda each: -each.score)
        settled = settle(asked[form].text, list(self._candidates(asked[form], scored)))
        found = list(islice(self._of_different_windows(scored[at] for at in settled.kept), k + bool(k)))
        return Step(found, settled.older, form)

    def led(self, trail: Trail, step: Step, sought: Callable[[str], Sought]) -> Found | None:
        """Find the best passage of another document that a trail leads to, perhaps one already found; None without.

        It scores no more than the passage that led to it: a chain is no stronger than its first link. `sought` embeds
        a text, which takes the most time, and is called only where there is such a passage.
        """
        passed = {older.document for older in step.older} | {each.chunk.document for each in step.found[:1]}
        rare = self._rare(trail.text)
        by_words = self._moment.by_words(rare, BY_WORDS, self._within) if rare else {}
        near = list(self._moment.chunks(by_words))  # what has a name has a word: no other is looked for
        if not any(chunk.document not in passed and trail.leads_to(chunk) for chunk in near):
            return None
        asked = sought(trail.text)
        cosine = zip((chunk.id for chunk in near), cosines(asked.vector, [chunk.vector for chunk in near]), strict=True)
        order = fuse(by_words, dict(cosine))
        chunks = islice(_different(self._moment.chunks(order)), LED_TO)
        lead = next((each for each in chunks if each.document not in passed and trail.leads_to(each)), None)
        return lead and Found(lead, min(trail.score, self._score(asked, lead)))

    def _rare(self, text: str) -> str:
        """Return the words of a text that fewer than MAX_COUNTED chunks have: others cost most and lead to nothing."""
        found = telling_words(text)[: 2 * MAX_TERMS]
        return " ".join(word for word in found if self._moment.frequency(word, MAX_COUNTED) < MAX_COUNTED)

    def _ranking(self, asked: Sought) -> list[int]:
        by_words = self._moment.by_words(asked.text, CANDIDATES, self._within)
        return fuse(by_words, self._moment.by_meaning(asked.vector, CANDIDATES, self._within))

    def _meant(
        self, asked: Sequence[Sought], rankings: Sequence[Sequence[int]], chunks: Sequence[Chunk], k: int
    ) -> int:
        """The number of the form that the question is about."""
        vectors = [chunk.vector for chunk in chunks]
        near = [dict(zip((chunk.id for chunk in chunks), cosines(each.vector, vectors), strict=True)) for each in asked]
        return chosen(list(map(Form, rankings, near)), k)

    def _scored(
        self, asked: Sequence[Sought], rankings: Sequence[Sequence[int]], chunks: Sequence[Chunk], form: int
    ) -> Iterator[Found]:
        """Score chunks by all forms of the question."""
        parts = [{id: 1.0 / place for place, id in enumerate(ranking, 1)} for ranking in rankings]
        ranks = [sum(each.get(chunk.id, 0.0) for each in parts) / len(parts) for chunk in chunks]
        ranked = list(map(Ranked, chunks, ranks))
        return map(Found, chunks, self._scoring.together(self._moment, self._scorer, asked, form, ranked), ranks)

    def _score(self, asked: Sought, chunk: Chunk) -> float:
        return self._scoring.score(self._moment, self._scorer, *asked, [(chunk, chunk.vector)])[0]

    def _candidates(self, asked: Sought, found: Sequence[Found]) -> Iterator[Candidate]:
        """Join what was found with its cosine to the question, and with what its document begins with."""
        begins = {name: self._moment.chunk_at(name, 0) for name in {each.chunk.document for each in found}}
        near = cosines(asked.vector, [each.chunk.vector for each in found])
        for cosine, (chunk, *_) in zip(near, found, strict=True):
            yield Candidate(chunk, cosine, _text(begins[chunk.document]))

    def _of_different_windows(self, found: Iterable[Found]) -> Iterator[Found]:
        """Yield the first chunk of each window."""
        seen: set[str] = set()
        for each in found:
            if (text := self.text(each.chunk)) not in seen:
                seen.add(text)
                yield each


def fuse(by_words: Mapping[int, float], by_meaning: Mapping[int, float]) -> list[int]:
    """Rank ids by MEANING times the cosine, and for the rest BM25 as a share of its best; ties by the words' ranking.

    An id that is not among the nearest gets the cosine of the last of these, the most that it can have. The best id by
    words ranks no lower than one without any of the words that is nearer by at most NEARER: an embedder that is sure
    must not hide a name.
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


def _text(chunk: Chunk | None) -> str:
    return chunk.text if chunk is not None else ""


def _different(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Yield the first chunk of each text; where its file is gone, the next one of that text whose file is not."""
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
    """Tell whether a chunk's file is not certainly gone; what came without a file has no path for a name."""
    return not (chunk.document.startswith("/") and is_gone(Path(chunk.document)))
