"""A pipe to another process: what goes over it has a deadline."""

from __future__ import annotations

import os
import select
import time
from typing import IO

_AT_ONCE = 1 << 20  # bytes


class TimedPipe:
    """Reads from, or writes to, an end of a pipe until a moment of the monotonic clock."""

    def __init__(self, pipe: IO[bytes], until_s: float) -> None:
        self._descriptor = pipe.fileno()
        self._until_s = until_s
        os.set_blocking(self._descriptor, False)

    def read(self, size: int) -> bytes:
        """So many bytes; fewer where the other end is gone. Raises TimeoutError."""
        parts: list[bytes] = []
        while size:
            try:
                part = os.read(self._descriptor, min(size, _AT_ONCE))
            except BlockingIOError:
                self._wait(select.POLLIN)
                continue
            if not part:
                break
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def write(self, data: bytes) -> None:
        """All of it. Raises TimeoutError, and OSError where the other end is gone."""
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(self._descriptor, left) :]
            except BlockingIOError:
                self._wait(select.POLLOUT)

    def flush(self) -> None:
        """Nothing is kept back."""

    def _wait(self, event: int) -> None:
        poll = select.poll()
        poll.register(self._descriptor, event)
        left_s = self._until_s - time.monotonic()
        if left_s <= 0 or not poll.poll(1_000 * left_s):
            raise TimeoutError
