"""A lock file that threads and processes wait for: one holds it alone, or several together."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hocket_bus.deadline import Deadline
from hocket_bus.errors import Unavailable
from hocket_bus.trust.private import keep_private

_LOOK_S = 0.003


@contextmanager
def held(file: Path, wait_s: float, *, together: bool = False) -> Iterator[None]:
    """Hold the lock inside. Raises Unavailable where others hold it longer than `wait_s` seconds."""
    keep_private(file)
    descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    try:
        _take(descriptor, file, wait_s, fcntl.LOCK_SH if together else fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, file: Path, wait_s: float, kind: int) -> None:
    deadline = Deadline.after(wait_s)
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if deadline.passed:
                raise Unavailable(
                    f"{file} is locked by another process", "try again, or end the process that holds it"
                ) from error
            time.sleep(_LOOK_S)
        else:
            return
