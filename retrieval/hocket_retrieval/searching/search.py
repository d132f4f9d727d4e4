"""A search for one query: ranked passages, and scores of passages that were found before.

`score` is the probability, in [0, 1], that a passage answers (relevance.py), or the re-ranker's: it orders the passages
and means the same on every machine with the same `scorer`. A daemon offers what needs no re-ranker as well, for a pair
of which only one side re-ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..embedding.embedder import Embedder
from ..embedding.reranker import Reranker
from ..errors import PassageGone, QueryError
from ..stores.protocol import Readable
from ..text.heads import Placed, headed
from .bridges import Trail, trail_of
from .finding import Finding, Found, Sought
from .recency import Older
from .scoring import Ranked, Scoring

MAX_QUERY_CHARS = 8_000
MAX_PASSAGES = 64


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that answers. `document` is its name, `ordinal` its number there from 0 on, `place` where it begins.

    `text` is that of its window. `led` are passages of other documents to which it leads, and whose texts stand behind
    its own. `subgraph` is the one that most of its entities are in; 0 where it has none. `rank`, in [0, 1], is what its
    place among the candidates adds to its score.
    """

    document: str
    title: str
    ordinal: int
    text: str
    score: float
    subgraph: int = 0
    place: str = ""
    led: tuple[Passage, ...] = ()
    rank: float = 0.0


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Passages, best first. None where `documents_total` is 0; `scorer` says what their scores mean.

    `older` are documents that say the same of another time, and are left out. `form` is the number of the question's
    form that it is about. `trail` is what the best passage leads to, None where one step was enough.
    """

    passages: tuple[Passage, ...]
    scorer: str
    documents_total: int
    older: tuple[Older, ...] = ()
    form: int = 0
    trail: Trail | None = None


class Searcher:
    """A searcher that answers queries from a store, on any thread. `subgraphs_of` returns the subgraphs of chunks."""

    def __init__(
        self,
        store: Readable,
        embedder: Embedder,
        reranker: Reranker | None = None,
        subgraphs_of: Callable[[Sequence[int]], Sequence[int]] = lambda ids: [0] * len(ids),
    ) -> None:
        self._store = store
        self._subgraphs_of = subgraphs_of
        self._embedder = embedder
        self._scoring = Scoring(embedder, reranker)
        self.scorers = self._scoring.names

    def search(
        self,
        query: str,
        k: int,
        scorer: str = "",
        within: tuple[str, ...] = (),
        size: int = 1,
        *,
        others: tuple[str, ...] = (),
        elsewhere: Trail | None = None,
        steps: int = 2,
    ) -> SearchResult:
        """The best `k` passages of different text, by `scorer` if it is one of `scorers`. Raises QueryError.

        `within` are folders, or documents, that alone are searched; empty: all are. A passage's text is the window of
        `size` chunks in which the one that was found stands. `others` are the question's other forms (forms.py).
        `elsewhere` is what the best passage of another side leads to, which counts where none here is nearer. With one
        of the `steps` nothing is followed.
        """
        asked = [self._sought(check_query(text, k)) for text in (query, *others)]
        used = self._scoring.offered(scorer)
        with self._store.moment() as moment:
            finding = Finding(moment, self._scoring, used, within, size)
            step = finding.first(asked, k)
            own = trail_of(asked[step.form].text, *step.found[0][:2]) if step.found else None
            nearer = elsewhere if elsewhere and step.found and elsewhere.score > step.found[0].score else own
            led = finding.led(nearer, step, self._sought) if nearer and steps > 1 else None
            passages = self._read(finding, step.found, k, led, behind=nearer is own)
            documents, _ = moment.totals()
        return SearchResult(tuple(passages), used, documents, _in_use(step.older, passages), step.form, own)

    def score(
        self, query: str, places: Sequence[tuple[str, int]], scorer: str = "", ranks: Sequence[float] = ()
    ) -> list[float]:
        """Score chunks by (document, ordinal), as `search` does by `scorer`, or by the best of `scorers`.

        `ranks` are those of the passages that it found, none for chunks that it did not find. Raises QueryError, for
        another scorer too, since its scores would mean something else; and PassageGone.
        """
        query = check_query(query, len(places))
        _check_each(ranks, len(places), "ranks")
        used = self._offered(scorer)
        with self._store.moment() as moment:
            chunks = [moment.chunk_at(*place) for place in places]
            found = [chunk for chunk in chunks if chunk is not None]
            if len(found) < len(chunks):
                gone = next(name for (name, _), chunk in zip(places, chunks, strict=True) if chunk is None)
                raise PassageGone(f"a passage of {gone} is no longer here", "ask again")
            if not found or self._scoring.reranks(used):
                return self._scoring.reranked(query, found) if found else []
            ranked = list(map(Ranked, found, ranks or [0.0] * len(found)))
            return self._scoring.together(moment, used, [self._sought(query)], 0, ranked)

    def weigh(self, query: str, texts: Sequence[str], scorer: str = "", names: Sequence[str] = ()) -> list[float]:
        """Score texts that are not in the store in the same way, each with the names above it where there are any."""
        query = check_query(query, len(texts))
        _check_each(names, len(texts), "names")
        used = self._offered(scorer)
        if not texts:
            return []
        above = names or [""] * len(texts)
        placed = [Placed("", name, "", text) for name, text in zip(above, texts, strict=True)]
        if self._scoring.reranks(used):
            return self._scoring.reranked(query, placed)
        passages = list(zip(placed, self._embedder.documents(texts), strict=True))
        with self._store.moment() as moment:
            return self._scoring.score(moment, used, query, self._embedder.query(query), passages)

    def _read(
        self, finding: Finding, found: Sequence[Found], k: int, led: Found | None, *, behind: bool
    ) -> list[Passage]:
        """Return the best `k`; the chunk that they lead to goes `behind` the first, or takes the last place."""
        if led is None or k < 1 or not (behind or k > 1):
            return self._passages(found[:k], finding)
        others = [each for each in found if each.chunk.id != led.chunk.id]
        if not behind:
            return self._passages([*others[: k - 1], led], finding)
        first, *rest = self._passages(others[:k], finding)
        (to,) = self._passages([led], finding)
        return [_leading(first, replace(to, text=led.chunk.text)), *rest]

    def _passages(self, found: Sequence[Found], finding: Finding) -> list[Passage]:
        subgraphs = self._subgraphs_of([each.chunk.id for each in found])
        return [self._passage(each, finding, subgraph) for each, subgraph in zip(found, subgraphs, strict=True)]

    def _passage(self, found: Found, finding: Finding, subgraph: int) -> Passage:
        chunk, text = found.chunk, finding.text(found.chunk)
        return Passage(
            chunk.document, chunk.title, chunk.ordinal, text, found.score, subgraph, chunk.place, rank=found.rank
        )

    def _sought(self, text: str) -> Sought:
        return Sought(text, self._embedder.query(text))

    def _offered(self, scorer: str) -> str:
        if scorer and scorer not in self.scorers:
            raise QueryError("the scorer that found these passages is not available here", "search again")
        return self._scoring.offered(scorer)


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


def _check_each(given: Sequence[object], passages: int, what: str) -> None:
    """Raise QueryError unless there is one for each passage, or none at all."""
    if given and len(given) != passages:
        raise QueryError(f"{len(given)} {what} for {passages} passages", "send one for each passage, or none")


def _in_use(older: Sequence[Older], passages: Sequence[Passage]) -> tuple[Older, ...]:
    """Return the older documents whose newer ones are as likely to answer as the best passage, or at least half as."""
    read = {each.document for each in passages if 2 * each.score >= passages[0].score}
    return tuple(each for each in older if each.newer in read)


def _leading(passage: Passage, to: Passage) -> Passage:
    """Return a passage joined with the one that it leads to: a model has to read both together."""
    return replace(passage, text=f"{passage.text}\n\n{headed(to)}", led=(to,))
