"""`hocket bench retrieval`: how fast hybrid search is over 100,000 real chunks, and how well it finds on SciFact.

The filled store is kept in a folder and filled resumably: embedding 100,000 chunks takes long without a GPU.
"""

from __future__ import annotations

import math
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, NamedTuple
from unittest.mock import patch

from hocket_lab.bench.questions import corpora
from hocket_lab.bench.running.product import EMBEDDER, EMBEDDING_PRECISION, EMBEDDING_THREADS
from hocket_lab.data_folder import require
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row, percentile
from hocket_lab.reporting.sources import digest_of_files
from hocket_retrieval.config import Precision
from hocket_tools.train.wikitext import Document

if TYPE_CHECKING:
    from hocket_retrieval.collection import Collection
    from hocket_retrieval.embedding.embedder import Embedder

WORDS = 64
WHOLE = 1 << 20  # words: an abstract is one chunk
WARM_UP = 30
VECTOR_BYTES = 2  # per component, in the index
NOTHING = '""'  # an expression that matches nothing
PUBLISHED = {"BM25": "0.665-0.679", "dense": "0.645", "hybrid": "-"}
COLUMNS = ("part", "system", "p50_ms", "p95_ms", "floor_ms", "ndcg_10", "recall_5", "chunks_per_s", "seconds")


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; `passages` are asked for in each of `searches`."""

    store: Annotated[Path, Option("Keeps what was embedded.", metavar="FOLDER")] = Path("results/retrieval")
    chunks: Annotated[int, Option("Passages in the store.", min=100)] = 100_000
    searches: Annotated[int, Option("Questions to time.", min=10)] = 400
    scifact: Annotated[int, Option("Documents of SciFact, in a trial; 0: all.", min=0)] = 0
    passages: int = 5
    embedder: Annotated[str, Option("A name, or a folder of sentence-transformers.")] = EMBEDDER
    threads: int = EMBEDDING_THREADS
    precision: Precision = EMBEDDING_PRECISION
    seed: int = 0


def run(data: Path, settings: Settings, json_path: Path | None) -> bool:
    """Measure what is not in the report yet; tells whether no claim misses."""
    from hocket_retrieval.embedding.embedder import Embedder

    read = digest_of_files(corpora.files(data))
    settings = replace(settings, store=settings.store / read)  # what was embedded of other data is never searched
    shown = {name: value for name, value in asdict(settings).items() if not isinstance(value, Path)}
    shown |= {"inputs": read, "chunk_words": WORDS, "scifact_chunk": "title and whole abstract"}
    report = Report(shown, json_path)
    require(data, *corpora.NEEDED)
    started = time.perf_counter()
    embedder = Embedder(settings.embedder, settings.threads, settings.precision)
    loading_s = time.perf_counter() - started
    if not report.find(part="loading"):
        report.add({"part": "loading", "system": "imports and embedder", "seconds": loading_s})
    if not report.find(part="search", system="total"):
        _measure_search(report, data, settings, embedder)
    if not report.find(part="scifact", system="hybrid"):
        _measure_scifact(report, data / "scifact", settings, embedder)
    if not report.find(part="ingestion", system="all but embedding"):
        _measure_ingestion(report, data, embedder)
    _claim(report, whole=settings.scifact == 0)
    if json_path is not None:
        report.plot(
            json_path.with_suffix(".png"),
            "system",
            "p50_ms",
            "part",
            title=f"Hybrid search over {settings.chunks:,} chunks",
        )
    return report.finish(COLUMNS)


def _claim(report: Report, *, whole: bool = True) -> None:
    """Add the claims; those on SciFact get no verdict unless the `whole` of it was measured."""
    report.claims.clear()

    def verdict(holds: bool) -> bool | None:
        return holds if whole else None

    total = report.find(part="search", system="total") or {}
    for name, target_ms in (("p50_ms", 30), ("p95_ms", 60)):
        measured = float(total[name] or 0)
        report.claim(f"hybrid search {name}, query embedded", f"at most {target_ms}", measured, measured <= target_ms)
    found = {name: float((report.find(part="scifact", system=name) or {})["ndcg_10"] or 0) for name in PUBLISHED}
    report.claim("SciFact nDCG@10, BM25", "published 0.665-0.679", found["BM25"], verdict(found["BM25"] >= 0.665))
    report.claim(
        "SciFact nDCG@10, dense", "published 0.645", found["dense"], verdict(round(found["dense"], 3) >= 0.645)
    )
    best = max(found["BM25"], found["dense"])
    report.claim("SciFact nDCG@10, hybrid", "above both", found["hybrid"], verdict(found["hybrid"] > best))


# --- speed ----------------------------------------------------------------------------------------------------------


def _measure_search(report: Report, data: Path, settings: Settings, embedder: Embedder) -> None:
    from hocket_retrieval.collection import Collection

    with Collection(settings.store / f"chunks-{settings.chunks}", embedder, chunk_words=WORDS) as collection:
        stored = _fill(collection, data, settings.chunks)
        questions = _questions(data, settings.searches + WARM_UP, settings.seed)
        with _timed() as parts:
            searches = _search_all(collection, questions, settings.passages, parts)
    within = {part: times[WARM_UP:] for part, times in parts.items()}
    alone = zip(*within.values(), strict=True)
    within["fusion"] = [search.wall_s - sum(of) for search, of in zip(searches, alone, strict=True)]
    for part, times in within.items():
        report.add(_latency(part, times) | {"floor_ms": _floor_ms(part, times, stored, embedder.dimension)})
    report.add(_latency("computing", [search.cpu_s for search in searches]))
    others: Row = {"chunks": stored, "load_average": os.getloadavg()[0]}
    report.add(_latency("total", [search.wall_s for search in searches]) | others)


def _fill(collection: Collection, data: Path, chunks: int) -> int:
    """Add documents until there are that many chunks; return how many there are then."""
    if collection.status().chunks < chunks:
        collection.add(_enough(data, chunks))
    return collection.status().chunks


def _enough(data: Path, chunks: int) -> Iterator[Document]:
    """Yield documents that together have at least that many chunks, counted before each is embedded."""
    from rich.progress import Progress

    from hocket_retrieval.text.chunking import chunk

    with Progress() as bar:
        task = bar.add_task("embedding the corpus", total=chunks)
        for document in _endless(data):
            yield document
            bar.advance(task, len(chunk(document.text, WORDS)))
            if bar.tasks[task].completed >= chunks:
                return


def _endless(data: Path) -> Iterator[Document]:
    """Yield every document, then Wikipedia's again in windows that begin half a chunk later, and so on."""
    yield from corpora.documents(data)
    articles = [document for document in corpora.documents(data) if document.name.startswith("wiki.")]
    for shift in (WORDS // 2, WORDS // 4, 3 * WORDS // 4):
        yield from (corpora.window(article, shift) for article in articles)


def _questions(data: Path, count: int, seed: int) -> list[str]:
    """Return real questions, half from NQ-open and half claims of SciFact, mixed."""
    natural = [row["question"] for row in corpora.json_lines(data / "nq_open/NQ-open.dev.jsonl")]
    claims = [row["text"] for row in corpora.json_lines(data / "scifact/queries.jsonl")]
    draw = random.Random(seed)
    mixed = draw.sample(natural, count // 2) + draw.sample(claims, count - count // 2)
    draw.shuffle(mixed)
    return mixed


class Search(NamedTuple):
    """Times of one search: seconds by the clock, and seconds of computing."""

    wall_s: float
    cpu_s: float


@contextmanager
def _timed() -> Iterator[dict[str, list[float]]]:
    """Yield the seconds of each search within the context, by its parts; fusing is the rest of it.

    Every search begins a new sum for each part (`_search_all`), since a search of two steps looks for words twice.
    """
    from hocket_retrieval.embedding.embedder import Embedder
    from hocket_retrieval.stores.sqlite.dense import DenseIndex
    from hocket_retrieval.stores.sqlite.sqlite_moment import SqliteMoment

    methods = {"embedding": (Embedder, "query"), "words": (SqliteMoment, "by_words"), "dense": (DenseIndex, "search")}
    times: dict[str, list[float]] = {part: [] for part in methods}
    with ExitStack() as stack:
        for part, (owner, name) in methods.items():
            method = _stopped(getattr(owner, name), times[part])
            stack.enter_context(patch.object(owner, name, method))
        yield times


def _stopped(method: Callable[..., object], times_s: list[float]) -> Callable[..., object]:
    def timed(*given: object) -> object:
        began_s = time.perf_counter()
        found = method(*given)
        times_s[-1] += time.perf_counter() - began_s
        return found

    return timed


def _search_all(
    collection: Collection, questions: Sequence[str], k: int, parts: dict[str, list[float]]
) -> list[Search]:
    """Search each question, one after another, without the times of the first few; `parts` are those of `_timed`."""
    from rich.progress import track

    searches = []
    for question in track(questions, "searching"):
        for times_s in parts.values():
            times_s.append(0.0)
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        collection.search(question, k)
        searches.append(Search(time.perf_counter() - wall_s, time.process_time() - cpu_s))
    return searches[WARM_UP:]


def _latency(system: str, times_s: Sequence[float]) -> Row:
    p50, p95 = (percentile(times_s, share) * 1000 for share in (0.5, 0.95))
    return {"part": "search", "system": system, "p50_ms": p50, "p95_ms": p95}


def _floor_ms(part: str, times_s: Sequence[float], chunks: int, dimension: int) -> float | None:
    """Return the bound that the part cannot beat: its fastest forward pass, or reading every vector once."""
    if part == "embedding":
        return min(times_s) * 1000
    if part == "dense":
        return chunks * dimension * VECTOR_BYTES / _bandwidth() * 1000
    return None


def _bandwidth() -> float:
    """Return the bytes per second that one core reads from memory: the best of several sums over 256 MiB."""
    import numpy as np

    block = np.ones(1 << 26, dtype=np.float32)
    best = math.inf
    for _ in range(5):
        started = time.perf_counter()
        block.max()
        best = min(best, time.perf_counter() - started)
    return block.nbytes / best


# --- quality --------------------------------------------------------------------------------------------------------


def _measure_scifact(report: Report, data: Path, settings: Settings, embedder: Embedder) -> None:
    from rich.progress import track

    from hocket_retrieval.collection import Collection

    folder = settings.store / f"scifact-{settings.scifact or 'all'}"
    with Collection(folder, embedder, chunk_words=WHOLE) as collection:
        rows = track(list(corpora.json_lines(data / "corpus.jsonl"))[: settings.scifact or None], "embedding SciFact")
        collection.add((row["_id"], row["title"], f"{row['title']} {row['text']}".strip()) for row in rows)
    queries = {row["_id"]: row["text"] for row in corpora.json_lines(data / "queries.jsonl")}
    relevant = _relevant(data / "qrels/test.tsv")
    rankings = _rankings(folder, embedder, {name: queries[name] for name in relevant})
    for system, ranked in rankings.items():
        measured: Row = {"part": "scifact", "system": system, "published_ndcg_10": PUBLISHED[system]}
        measured["ndcg_10"] = fmean(_ndcg(ranked[name][:10], relevant[name]) for name in relevant)
        measured["recall_5"] = fmean(_recall(ranked[name][:5], relevant[name]) for name in relevant)
        report.add(measured)


def _rankings(folder: Path, embedder: Embedder, queries: dict[str, str]) -> dict[str, dict[str, list[str]]]:
    """Return document names by system and query, best first; the daemon's own searches, one by one and fused."""
    from hocket_retrieval.searching.finding import CANDIDATES, fuse
    from hocket_retrieval.stores.sqlite.sqlite import SqliteStore

    ranked: dict[str, dict[str, list[str]]] = {system: {} for system in PUBLISHED}
    with SqliteStore(folder, embedder.fingerprint, embedder.dimension) as store, store.moment() as moment:
        for name, query in queries.items():
            by_words = moment.by_words(query, CANDIDATES)
            by_meaning = moment.by_meaning(embedder.query(query), CANDIDATES)
            for system, ids in (("BM25", by_words), ("dense", by_meaning), ("hybrid", fuse(by_words, by_meaning))):
                ranked[system][name] = [chunk.document for chunk in moment.chunks(list(ids)[:10])]
    return ranked


def _relevant(path: Path) -> dict[str, set[str]]:
    """Return the relevant documents of each query, from BEIR's qrels layout."""
    relevant: dict[str, set[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            relevant.setdefault(query, set()).add(document)
    return relevant


def _ndcg(ranked: Sequence[str], relevant: set[str]) -> float:
    """Return the discounted gain of the ranking over that of a perfect one of the same length (nDCG)."""
    gains = (1 / math.log2(place + 2) for place, name in enumerate(ranked) if name in relevant)
    return sum(gains) / sum(1 / math.log2(place + 2) for place in range(min(10, len(relevant))))


def _recall(ranked: Sequence[str], relevant: set[str]) -> float:
    return len(relevant & set(ranked)) / len(relevant)


# --- ingestion ------------------------------------------------------------------------------------------------------


def _measure_ingestion(report: Report, data: Path, embedder: Embedder, articles: int = 10) -> None:
    """Measure the reading of files of Wikipedia articles from disk into an empty store."""
    from hocket_retrieval.collection import Collection

    folder = Path(tempfile.mkdtemp())
    try:
        (folder / "files").mkdir()
        names = (document for document in corpora.documents(data) if document.name.startswith("wiki."))
        for number, document in zip(range(articles), names, strict=False):
            (folder / "files" / f"{number}.txt").write_text(document.text, encoding="utf-8")
        with Collection(folder / "state", embedder, chunk_words=WORDS) as collection:
            done = collection.ingest([folder / "files"])
    finally:
        shutil.rmtree(folder)
    without_s = done.seconds - done.embedding_s
    for system, seconds in (("all", done.seconds), ("embedding", done.embedding_s), ("all but embedding", without_s)):
        rate = done.chunks / seconds
        report.add({"part": "ingestion", "system": system, "chunks_per_s": rate, "seconds": seconds})
