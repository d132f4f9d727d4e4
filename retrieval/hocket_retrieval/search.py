"""One query, ranked passages: words and meaning searched apart, fused by their scores, scored by meaning.

The order is a convex combination of BM25, as a share of its best, and the cosine (Bruch, Gai and Ingber, TOIS 2023), or
the re-ranker's where there is one. `score` is no fused score but the cosine of query and chunk in [-1, 1], or the
re-ranker's probability in [0, 1]: it means the same on every machine with the same `scorer`. A daemon with a re-ranker
offers its embedder's scores as well, for a pair of which only one side re-ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import log
from pathlib import Path

import numpy as np

from .embedder import Embedder, Reranker
from .errors import PassageGone, QueryError
from .heads import headed, searched
from .lexical import MAX_TERMS, telling_words, words
from .recency import Candidate, Older, settle
from .stores.protocol import DocumentStore
from .stores.records import Chunk, Vectors
from .walk import is_gone
from .windows import text_around

MAX_QUERY_CHARS = 8_000
MAX_PASSAGES = 64
CANDIDATES = 100  # taken from each ranking
MAX_COUNTED = 1_000  # chunks of a word
RERANKED = 24
MEANING = 0.65  # of the weight
SPARE = 4  # candidates more than are wanted: some may be of another time
NEARER = 0.72  # what has none of the words is ahead of what has the rarest only if it is nearer by more


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that answers. `document` is its name, `ordinal` its number there from 0 on, `place` where it begins.

    `text` is that of its window.

    `subgraph` is the one that most of its entities are in; 0 where it has none.
    """

    document: str
    title: str
    ordinal: int
    text: str
    score: float
    subgraph: int = 0
    place: str = ""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Passages, best first. None where `documents_total` is 0; `scorer` says what their scores mean.

    `matched`, in [0, 1], is how much of what the question's words tell is in one of them: see `_matched`. `older` are
    documents that say the same of another time, and are left out.
    """

    passages: tuple[Passage, ...]
    scorer: str
    documents_total: int
    matched: float
    older: tuple[Older, ...] = ()


class Searcher:
    """Answers queries from a store; from any thread. `subgraphs_of` tells the subgraphs of chunks."""

    def __init__(
        self,
        store: DocumentStore,
        embedder: Embedder,
        reranker: Reranker | None = None,
        subgraphs_of: Callable[[Sequence[int]], Sequence[int]] = lambda ids: [0] * len(ids),
    ) -> None:
        self._store = store
        self._subgraphs_of = subgraphs_of
        self._embedder = embedder
        self._reranker = reranker
        self.scorers = [model.fingerprint for model in (reranker, embedder) if model]

    def search(self, query: str, k: int, scorer: str = "", within: tuple[str, ...] = (), size: int = 1) -> SearchResult:
        """The best `k` passages of different text, by `scorer` if it is one of `scorers`. Raises QueryError.

        `within` are folders, or documents, that alone are searched; empty: all are. A passage's text is the window of
        `size` chunks in which the one that was found stands.
        """
        query, reranker = check_query(query, k), self._reranker_of(scorer)
        vector = self._embedder.query(query)
        with self._store.moment() as moment:
            total, chunks_total = moment.totals()
            by_words = moment.by_words(query, CANDIDATES, within)
            by_meaning = moment.by_meaning(vector, CANDIDATES, within)
            wanted = size * (max(k, RERANKED) if reranker else k)  # of a window there may be all chunks
            chunks = list(islice(_different(moment.chunks(fuse(by_words, by_meaning))), wanted + SPARE * bool(wanted)))
            texts = {(chunk.document, chunk.ordinal): text_around(moment, chunk, size) for chunk in chunks}
            begins = {name: moment.chunk_at(name, 0) for name in {chunk.document for chunk in chunks}}
            frequencies = {word: moment.frequency(word, MAX_COUNTED) for word in telling_words(query)[:MAX_TERMS]}
        scored = _scored(query, vector, chunks, reranker)
        settled = settle(query, [Candidate(*each, _text(begins[each[0].document])) for each in scored])
        kept = [scored[at] for at in settled.kept]
        subgraphs = self._subgraphs_of([chunk.id for chunk, _ in kept])
        ranked = (_passage(*each, subgraph) for each, subgraph in zip(kept, subgraphs, strict=True))
        found = list(islice(_of_different_windows(ranked, texts), k))
        matched = _matched(found, frequencies, chunks_total)
        passages = tuple(replace(each, text=texts[each.document, each.ordinal]) for each in found)
        used = reranker.fingerprint if reranker else self._embedder.fingerprint
        return SearchResult(passages, used, total, matched, tuple(settled.older))

    def score(self, query: str, places: Sequence[tuple[str, int]], scorer: str = "") -> list[float]:
        """Scores of chunks by (document, ordinal), as `search` gives them by `scorer`, or by the best of `scorers`.

        Raises QueryError, for another scorer too, since its scores would mean something else; and PassageGone.
        """
        query = check_query(query, len(places))
        if scorer and scorer not in self.scorers:
            raise QueryError("the scorer that found these passages is not offered here", "search again")
        with self._store.moment() as moment:
            chunks = [moment.chunk_at(*place) for place in places]
        found = [chunk for chunk in chunks if chunk is not None]
        if len(found) < len(chunks):
            gone = next(name for (name, _), chunk in zip(places, chunks, strict=True) if chunk is None)
            raise PassageGone(f"a passage of {gone} is no longer here", "ask again")
        reranker = self._reranker_of(scorer)
        if not found:
            return []
        if reranker is None:
            return _cosines(self._embedder.query(query), found)
        return [float(score) for score in reranker.score(query, list(map(headed, found)))]

    def weigh(self, query: str, texts: Sequence[str], scorer: str = "") -> list[float]:
        """The same for texts that are not in the store."""
        query = check_query(query, len(texts))
        if scorer and scorer not in self.scorers:
            raise QueryError("the scorer that found these passages is not offered here", "search again")
        reranker = self._reranker_of(scorer)
        if not texts:
            return []
        if reranker is None:
            cosines = self._embedder.documents(texts) @ self._embedder.query(query)
            return [float(cosine) for cosine in np.clip(cosines, -1, 1)]
        return [float(score) for score in reranker.score(query, list(texts))]

    def _reranker_of(self, scorer: str) -> Reranker | None:
        return None if scorer == self._embedder.fingerprint else self._reranker


def _scored(query: str, vector: Vectors, chunks: list[Chunk], reranker: Reranker | None) -> list[tuple[Chunk, float]]:
    if not chunks:
        return []
    if reranker is None:
        return list(zip(chunks, _cosines(vector, chunks), strict=True))
    scores = map(float, reranker.score(query, list(map(headed, chunks))))
    return sorted(zip(chunks, scores, strict=True), key=lambda scored: -scored[1])


def _text(chunk: Chunk | None) -> str:
    return chunk.text if chunk is not None else ""


def check_query(query: str, k: int) -> str:
    """The query as it will be searched: any Unicode, lone surrogates replaced. Raises QueryError."""
    query = query.encode("utf-8", "replace").decode("utf-8").strip()
    if not query:
        raise QueryError("the query is empty", "ask something")
    if len(query) > MAX_QUERY_CHARS:
        raise QueryError(f"the query has {len(query)} characters", f"shorten it to {MAX_QUERY_CHARS}")
    if not 0 <= k <= MAX_PASSAGES:
        raise QueryError(f"{k} passages were asked for", f"ask for 0 to {MAX_PASSAGES}")
    return query


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


def _matched(passages: Sequence[Passage], frequencies: Mapping[str, int], chunks: int) -> float:
    """The largest share that a passage has of the words' inverse document frequencies; 0 without a rare word in it.

    A word that stands nowhere counts most. `frequencies` are those of the question's words over all `chunks`.
    """
    weights = {word: log((chunks + 2) / (frequency + 1)) for word, frequency in frequencies.items()}
    rare = {word for word, frequency in frequencies.items() if frequency <= min(max(2, chunks // 100), MAX_COUNTED - 1)}
    shares = [0.0]
    for passage in passages:
        found = weights.keys() & {*words(searched(passage))}
        if found & rare:
            shares.append(sum(weights[word] for word in found) / sum(weights.values()))
    return min(1.0, max(shares))  # sums in another order differ in their last bit


def _cosines(vector: Vectors, chunks: Sequence[Chunk]) -> list[float]:
    cosines = np.stack([chunk.vector for chunk in chunks]) @ vector
    return [float(cosine) for cosine in np.clip(cosines, -1, 1)]


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


def _of_different_windows(scored: Iterable[Passage], texts: Mapping[tuple[str, int], str]) -> Iterator[Passage]:
    """The first passage of each window, whose `texts` these are."""
    seen: set[str] = set()
    for each in scored:
        if (text := texts[each.document, each.ordinal]) not in seen:
            seen.add(text)
            yield each


def _passage(chunk: Chunk, score: float, subgraph: int) -> Passage:
    return Passage(chunk.document, chunk.title, chunk.ordinal, chunk.text, float(score), subgraph, chunk.place)
