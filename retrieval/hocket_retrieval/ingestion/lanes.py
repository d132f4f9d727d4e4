"""Queues of files by their size: each is read in order, a few files ahead of what is embedded, beside the others."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import NamedTuple

from ..parsing.sandboxes import Sandboxes
from .job import Job
from .turns import Draft
from .waiting import Queued


class Entry(NamedTuple):
    """A file to read, and the job that asked for it."""

    file: Queued
    job: Job


Read = Callable[[Entry, Sandboxes], Draft | None]


class Lane:
    """A queue with a thread, and sandboxes, of its own. At most `ahead` of its files are being read or embedded."""

    def __init__(self, max_bytes: float, ahead: int, read: Read, wake: Callable[[], None]) -> None:
        self.max_bytes = max_bytes
        self._ahead = ahead
        self._read = read
        self._wake = wake
        self._waiting: deque[Entry] = deque()
        self._reading: deque[tuple[Entry, Future[Draft | None]]] = deque()
        self._in_work: set[str] = set()
        self._sandboxes = Sandboxes()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="read")

    def __bool__(self) -> bool:
        return bool(self._waiting or self._in_work)

    def add(self, entry: Entry) -> None:
        """Queue a file, which is read after those before it."""
        self._waiting.append(entry)

    def ready(self, busy: set[str]) -> Iterator[tuple[Entry, Future[Draft | None]]]:
        """Yield the files that have been read, in order; begin others, unless their names are among the `busy` ones."""
        while self._waiting and len(self._in_work) < self._ahead and self._waiting[0].file.name not in busy:
            entry = self._waiting.popleft()
            busy.add(entry.file.name)
            self._in_work.add(entry.file.name)
            future = self._thread.submit(self._read, entry, self._sandboxes)
            self._reading.append((entry, future))
            future.add_done_callback(lambda _: self._wake())
        while self._reading and self._reading[0][1].done():
            yield self._reading.popleft()

    def leave(self, name: str) -> None:
        """Count a file of this lane as done."""
        self._in_work.discard(name)

    def clear(self) -> None:
        """Forget all; what is being read is read to its end."""
        for _, future in self._reading:
            future.cancel()
        wait([future for _, future in self._reading])
        for left in (self._waiting, self._reading, self._in_work):
            left.clear()

    def rest(self) -> None:
        """End the processes that read, until there is something to read again."""
        self._sandboxes.rest()

    def stop(self) -> None:
        """Read nothing more; on any thread."""
        self._sandboxes.close()

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown()
