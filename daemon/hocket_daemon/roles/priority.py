"""Real-time priority of the bus over forward passes: a draft that waits for a processor is a late rejection."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

_THREADS = Path("/proc/self/task")
_LIBZMQ = "ZMQbg/IO/"  # what it calls the threads that read and write its sockets


def come_first() -> bool:
    """Run this thread and libzmq's in real time, at the lowest priority, if the system lets it; return whether it does.

    Neither threads nor processes that are begun afterwards inherit it.
    """
    return all(map(_run_in_real_time, [threading.get_native_id(), *_io_threads()]))


def may_come_first() -> bool:
    """Tell whether the system would allow it; tried by a thread that ends at once."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: _run_in_real_time(threading.get_native_id())).result()


def _run_in_real_time(thread: int) -> bool:
    try:
        os.sched_setscheduler(thread, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except OSError:
        return False
    return True


def _io_threads() -> Iterator[int]:
    for thread in _THREADS.iterdir():
        with suppress(OSError):  # it has ended meanwhile
            if (thread / "comm").read_text(encoding="ascii").startswith(_LIBZMQ):
                yield int(thread.name)
