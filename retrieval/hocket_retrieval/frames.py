"""What goes over the pipes between a sandbox and the process in it: messages in msgpack, each behind its length."""

from __future__ import annotations

from typing import Annotated, BinaryIO

from msgspec import Meta, Struct

from .outline import MAX_PLACE_CHARS, MAX_PLACES
from .timed_pipe import TimedPipe

MAX_TEXT_BYTES = 64 << 20
_MAX_FRAME = 4 * MAX_TEXT_BYTES  # with the borders of its passages
Places = Annotated[list[tuple[int, Annotated[str, Meta(max_length=MAX_PLACE_CHARS)]]], Meta(max_length=MAX_PLACES)]


class Asked(Struct, frozen=True, array_like=True):
    """Read the file at `path`, whose `size` bytes come behind this, within so much processor time."""

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


class Refused(Struct, frozen=True, array_like=True, tag=True):
    """A document that cannot be read, and why."""

    text: str
    remedy: str
    worn: bool = False
    scanned: bool = False


class Outgrown(Struct, frozen=True, array_like=True, tag=True):
    """There was not memory enough."""


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
