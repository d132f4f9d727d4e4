"""Messages over the pipes between a sandbox and the process in it: msgpack, each after its length.

Only the sandbox's ends have a deadline: the process in it, which may open no file, may poll none.
"""

from __future__ import annotations

import os
import select
import subprocess
import time
from typing import IO, Annotated, BinaryIO

from msgspec import Meta, Struct

from .outline import MAX_PLACE_CHARS, MAX_PLACES

MAX_TEXT_BYTES = 64 << 20
_AT_ONCE = 1 << 20  # bytes
_MAX_FRAME = 4 * MAX_TEXT_BYTES  # with the borders of its passages
Places = Annotated[list[tuple[int, Annotated[str, Meta(max_length=MAX_PLACE_CHARS)]]], Meta(max_length=MAX_PLACES)]


class Asked(Struct, frozen=True, array_like=True):
    """A request to read the file at `path`, whose `size` bytes follow it, within so much processor time."""

    path: str
    size: int
    words: int
    processor_s: float


class ReadDocument(Struct, frozen=True, array_like=True, tag=True):
    """A document's text. `borders` are start and end of each of its passages; a `worn` process is not asked again.

    `outline` are places, each with the offset in the text from where it holds; `notice` is a line about what of it is
    not read; `scanned` says that pages of it wait for text recognition.
    """

    title: str
    text: str
    borders: list[int]
    outline: Places
    notice: str = ""
    worn: bool = False
    scanned: bool = False


class Started(Struct, frozen=True, array_like=True, tag=True):
    """The process has loaded its parsers; `unconfined` says in which respects it is not confined, empty for none."""

    unconfined: str


class Refused(Struct, frozen=True, array_like=True, tag=True):
    """A document that cannot be read, and why."""

    text: str
    remedy: str
    worn: bool = False
    scanned: bool = False


class Outgrown(Struct, frozen=True, array_like=True, tag=True):
    """An answer that there was not memory enough."""


class TimedPipe:
    """An end of a pipe that is read, or written, until a moment of the monotonic clock."""

    def __init__(self, pipe: IO[bytes], until_s: float) -> None:
        self._descriptor = pipe.fileno()
        self._until_s = until_s
        os.set_blocking(self._descriptor, False)

    def read(self, size: int) -> bytes:
        """Read so many bytes; fewer where the other end is gone. Raises TimeoutError."""
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
        """Write all data. Raises TimeoutError, and OSError where the other end is gone."""
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(self._descriptor, left) :]
            except BlockingIOError:
                self._wait(select.POLLOUT)

    def flush(self) -> None:
        """Do nothing: no data is kept back."""

    def _wait(self, event: int) -> None:
        poll = select.poll()
        poll.register(self._descriptor, event)
        left_s = self._until_s - time.monotonic()
        if left_s <= 0 or not poll.poll(1_000 * left_s):
            raise TimeoutError


def write_frame(pipe: BinaryIO | TimedPipe, frame: bytes, data: bytes = b"") -> None:
    """Send a frame, and `data` as it is. Raises OSError."""
    pipe.write(len(frame).to_bytes(8, "big"))
    pipe.write(frame)
    pipe.write(data)
    pipe.flush()


def read_frame(pipe: BinaryIO | TimedPipe) -> bytes | None:
    """The next frame; None when the other end is gone, in the middle of one or before, or sends one too long."""
    head = pipe.read(8)
    size = int.from_bytes(head, "big")
    if len(head) < 8 or size > _MAX_FRAME:
        return None
    frame = pipe.read(size)
    return frame if len(frame) == size else None


def pipe_of(pipe: IO[bytes] | None) -> IO[bytes]:
    """Return an end of a process that was begun with subprocess.PIPE."""
    assert pipe is not None
    return pipe


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that was begun with pipes, and close them."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        pipe_of(pipe).close()
