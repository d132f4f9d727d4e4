"""Waiting for a daemon's compute thread to have nothing more to do."""

from __future__ import annotations

from queue import SimpleQueue

from hocket_daemon.engine.runtime.compute import Compute
from waiting import WAIT_S, until


def come_to_rest(compute: Compute) -> None:
    """Wait until nothing is computed, and nobody is about to ask for more because of what has been.

    A pass that has ended is no longer waiting, and what its end leads to is not waiting yet. So nothing waits at two
    looks on the main thread, and nothing was read between them: whatever had ended before the first look has led to
    what it leads to before the second.
    """

    def look() -> tuple[int, int]:
        seen: SimpleQueue[tuple[int, int]] = SimpleQueue()
        compute.run(lambda: None, lambda _: seen.put((compute.waiting, compute.read_tokens)))
        return seen.get(timeout=WAIT_S)

    def rests() -> bool:
        first = look()
        return first[0] == 0 and look() == first

    until(rests)
