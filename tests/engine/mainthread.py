"""A main thread for tests of the engine: runs what compute threads post, and nothing else runs meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue

from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.runtime.compute import Compute
from waiting import WAIT_S


class MainThread:
    """The inbox of this thread."""

    def __init__(self) -> None:
        self._inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def post(self, *commands: Callable[[], None]) -> None:
        for command in commands:
            self._inbox.put(command)

    def until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self._inbox.get(timeout=WAIT_S)()

    def settle(self, compute: Compute) -> None:
        """Until everything that was asked of the compute thread before is done, and all of its news are heard."""
        seen: list[object] = []
        while compute.waiting:
            self._inbox.get(timeout=WAIT_S)()
        compute.run(lambda: None, seen.append)
        self.until(lambda: bool(seen))
        while not self._inbox.empty():
            try:
                self._inbox.get_nowait()()
            except Empty:
                break

    @contextmanager
    def compute(self, model: LanguageModel) -> Iterator[Compute]:
        """A compute thread for `model`."""
        made = Compute(self.post, model.read)
        try:
            yield made
        finally:
            made.close()
