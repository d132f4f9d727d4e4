"""Files into the store: read, cut, embed, put. Knows nothing of searching.

What is to do lies in the store's queue and what is done in its tables, so a process that dies in the middle is followed
by one that goes on: a file leaves the queue when it is in the store, and vectors are kept batch by batch.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hocket_bus.errors import Cancelled

from . import readers
from .chunking import chunk
from .embedder import Embedder
from .errors import DocumentError
from .snapshot import Document
from .store import Change, Store, Wanted, digest

BATCH_CHUNKS = 128
MAX_NAME_BYTES = 2_000


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is; chunks are those of the file at hand."""

    name: str
    files_done: int
    files_total: int
    chunks_done: int
    chunks_total: int


@dataclass(slots=True)
class Report:
    """What a job did; `errors` are (file, one line), `skipped` files of a folder that are of no known type."""

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    skipped: int = 0
    chunks: int = 0
    embedded: int = 0
    seconds: float = 0.0
    embedding_s: float = 0.0
    errors: list[tuple[str, str]] = field(default_factory=list)


OnProgress = Callable[[Progress], None]
OnChunks = Callable[[int, int], None]


class Ingester:
    """Carries out one job at a time. `commit` makes a change and tells the index of it; `stop` ends a job early."""

    def __init__(
        self, store: Store, embedder: Embedder, chunk_words: int, commit: Callable[[Callable[[], Change]], Change]
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._chunk_words = chunk_words
        self._commit = commit
        self.recipe = f"{embedder.fingerprint} words:{chunk_words}"
        self.stop = threading.Event()

    def enqueue(self, paths: Sequence[Path], report: Report) -> None:
        """Queue the files at `paths` and in folders there; what cannot be found goes into the report."""
        names: list[str] = []
        for path in paths:
            for file in _expand(path.absolute(), report):
                try:
                    names.append(_name(file))
                except DocumentError as error:
                    report.errors.append((file.name, str(error)))
        self._store.enqueue(names)

    def run(self, report: Report, on_progress: OnProgress) -> None:
        """Bring stale documents up to date and work through the queue. Raises Cancelled when `stop` is set."""
        started = time.perf_counter()
        with self._store.snapshot() as snapshot:
            stale, queued = snapshot.stale(self.recipe), snapshot.queued()
        total = len(stale) + len(queued)
        try:
            for done, name in enumerate(stale):
                self._heed_stop()
                self._renew(name, report, _counter(on_progress, name, done, total))
            for done, name in enumerate(queued, start=len(stale)):
                self._heed_stop()
                self._ingest(name, report, _counter(on_progress, name, done, total))
                self._store.dequeue(name)
        finally:
            report.seconds += time.perf_counter() - started
        self._store.sweep()

    def add(self, name: str, title: str, text: str, report: Report) -> None:
        """Put one text under a name, in place of what has that name; nothing is done when it is there already."""
        document = Document(name, title, text, hashlib.sha256(text.encode()).digest(), self.recipe)
        if self._is_stored(name, document.sha256):
            report.unchanged += 1
        else:
            self._put(document, report, lambda _done, _total: None)

    def _ingest(self, name: str, report: Report, on_chunks: OnChunks) -> None:
        path = Path(name)
        with self._store.snapshot() as snapshot:
            if not snapshot.is_queued(name):  # removed meanwhile
                return
        try:
            data = readers.read_bytes(path)
            sha256 = hashlib.sha256(data).digest()
            if self._is_stored(name, sha256):
                report.unchanged += 1
                return
            content = readers.read(path, data)
        except DocumentError as error:  # an older version of the file, if there is one, stays
            report.errors.append((name, str(error)))
            return
        self._put(Document(name, content.title, content.text, sha256, self.recipe), report, on_chunks, "queue")

    def _renew(self, name: str, report: Report, on_chunks: OnChunks) -> None:
        with self._store.snapshot() as snapshot:
            document = snapshot.document(name)
        if document:  # else it was removed meanwhile
            self._put(document._replace(recipe=self.recipe), report, on_chunks, "documents")

    def _heed_stop(self) -> None:
        if self.stop.is_set():
            raise Cancelled("ingestion was stopped", "it goes on where it was at the next start")

    def _is_stored(self, name: str, sha256: bytes) -> bool:
        with self._store.snapshot() as snapshot:
            document = snapshot.document(name)
        return document is not None and (document.sha256, document.recipe) == (sha256, self.recipe)

    def _put(self, document: Document, report: Report, on_chunks: OnChunks, wanted: Wanted | None = None) -> None:
        pieces = chunk(document.text, self._chunk_words)
        digests = [digest(self._embedder.fingerprint, piece) for piece in pieces]
        self._embed(dict(zip(digests, pieces, strict=True)), report, on_chunks)
        rows = list(zip(pieces, digests, strict=True))
        change = self._commit(lambda: self._store.put_document(document, rows, wanted))
        if not len(change.added):  # removed meanwhile
            return
        report.replaced += bool(len(change.removed))
        report.added += not len(change.removed)
        report.chunks += len(pieces)

    def _embed(self, texts: dict[bytes, str], report: Report, on_chunks: OnChunks) -> None:
        """Make the vectors that are missing, batch by batch, each kept at once."""
        with self._store.snapshot() as snapshot:
            missing = snapshot.missing(list(texts))
        todo = [(key, text) for key, text in texts.items() if key in missing]
        done = len(texts) - len(todo)
        on_chunks(done, len(texts))
        for first in range(0, len(todo), BATCH_CHUNKS):
            self._heed_stop()
            keys, batch = zip(*todo[first : first + BATCH_CHUNKS], strict=True)
            started = time.perf_counter()
            vectors = self._embedder.documents(batch)
            report.embedding_s += time.perf_counter() - started
            self._store.put_vectors(keys, vectors)
            report.embedded += len(batch)
            on_chunks(done + first + len(batch), len(texts))


def _counter(on_progress: OnProgress, name: str, done: int, total: int) -> OnChunks:
    return lambda chunks, of: on_progress(Progress(name, done, total, chunks, of))


def _expand(path: Path, report: Report) -> list[Path]:
    """The file itself, or the readable files below a folder; hidden ones are passed over."""
    if not os.path.isdir(path):  # Path's own raises for a name that is too long
        return [path]
    files = list(_files(path))
    readable = [file for file in files if readers.is_supported(file)]
    report.skipped += len(files) - len(readable)
    return readable


def _name(path: Path) -> str:
    """The name a file's document will have. Raises DocumentError for one that cannot be stored or sent."""
    name = str(path)
    try:
        size = len(name.encode())
    except UnicodeEncodeError as error:
        raise DocumentError(f"{name!a}: the file's name is no valid UTF-8", "rename it") from error
    if size > MAX_NAME_BYTES:
        raise DocumentError(f"{name[:80]}…: the path is over {MAX_NAME_BYTES} bytes", "move the file further up")
    if not os.path.exists(path):
        raise DocumentError(f"{path}: no such file or folder", "check the path on the machine of this daemon")
    return name


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place, name) for name in sorted(names) if not name.startswith("."))
