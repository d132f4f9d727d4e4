"""An ingestion job: its progress, and its result. Knows no files and no stores."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from .waiting import Queued

_CHUNKS_PER_BYTE = 1 / 400  # of plain text, until a job knows its own
_STORING_S = 1 / 2_000  # a chunk, until then


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a job. `chunks_total` and `left_s` are estimates; the latter is 0 while there is no basis.

    `chunks_done` have their vectors. When all have, what is left is to take the last files into the store.
    `name` is the current file; while the job is `waiting` that is another job's.
    """

    name: str
    files_done: int
    files_total: int
    chunks_done: int
    chunks_total: int
    left_s: float
    waiting: bool


@dataclass(slots=True)
class Report:
    """The result of a job; `errors` are (file, one line), `skipped` counts files of a folder of unknown types.

    `removed` documents of a folder are those whose files are gone or empty. `notices` are lines about what was not
    read.
    """

    added: int = 0
    replaced: int = 0
    removed: int = 0
    unchanged: int = 0
    skipped: int = 0
    chunks: int = 0
    embedded: int = 0
    seconds: float = 0.0
    embedding_s: float = 0.0
    errors: list[tuple[str, str]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


OnProgress = Callable[[Progress], None]
OnEnd = Callable[[Exception | None], None]


class Job:
    """Files requested together. `on_end` is called once: with None when all are done, else with the exception."""

    def __init__(self, on_progress: OnProgress = lambda _: None, on_end: OnEnd = lambda _: None) -> None:
        self.report = Report()
        self.on_end = on_end
        self.added: list[str] = []  # names of documents that were not there before
        self._on_progress = on_progress
        self._started = time.perf_counter()
        self._files = 0
        self._left = 0
        self._unread_bytes = 0
        self._read_bytes = 0
        self._chunks = 0
        self._chunks_done = 0
        self._chunks_stored = 0
        self._storing_s = 0.0

    @property
    def is_done(self) -> bool:
        """Tell whether no file is left."""
        return not self._left

    def add(self, files: Iterable[Queued]) -> None:
        """Add files to the job."""
        for file in files:
            self._files += 1
            self._left += 1
            self._unread_bytes += file.size

    def on_open(self, file: Queued, chunks: int) -> None:
        """Count a file as read, and the chunks of it that are to be embedded."""
        self._unread_bytes -= file.size
        self._read_bytes += file.size
        self._chunks += chunks

    def embedded(self, chunks: int) -> None:
        """Count so many chunks as embedded."""
        self._chunks_done += chunks

    @contextmanager
    def storing(self, name: str, chunks: int) -> Iterator[Callable[[int], None]]:
        """Yield a function that takes how many chunks of a file are stored so far; at the end all count as stored."""
        began_s, stored, storing_s = time.perf_counter(), self._chunks_stored, self._storing_s

        def on_stored(count: int) -> None:
            self._chunks_stored = stored + count
            self._storing_s = storing_s + time.perf_counter() - began_s
            self.advance(name)

        on_stored(0)
        try:
            yield on_stored
        finally:
            on_stored(chunks)

    def closed(self, file: Queued, *, unread: bool) -> None:
        """Count a file as done; `unread` where it was not opened."""
        self._left -= 1
        if unread:
            self._unread_bytes -= file.size
        self.report.seconds = time.perf_counter() - self._started

    def advance(self, name: str, *, waiting: bool = False) -> None:
        """Report the progress of the job."""
        per_byte = self._chunks / self._read_bytes if self._read_bytes else _CHUNKS_PER_BYTE
        total = self._chunks + round(self._unread_bytes * per_byte)
        done = self._files - self._left
        left_s = self._left_s(total) if self._chunks_done else 0.0
        self._on_progress(Progress(name, done, self._files, self._chunks_done, total, left_s, waiting))

    def _left_s(self, total: int) -> float:
        """Estimate the seconds left, by the pace so far of all that leads to the vectors, and by that of storing."""
        embedding_s = time.perf_counter() - self._started - self._storing_s
        chunk_s = self._storing_s / self._chunks_stored if self._chunks_stored else _STORING_S
        embedded, stored = self._chunks_done, self._chunks_stored
        return embedding_s / embedded * (total - embedded) + chunk_s * (total - stored)
