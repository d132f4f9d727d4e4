"""The filter before a terminal: in whatever a command writes, no character hides text or turns it around.

Colours and cursor moves are hocket's own: texts of others have lost theirs before (`console.printable`).
"""

from __future__ import annotations

import re
import sys
from typing import Any, TextIO

from hocket_bus.visible import visible

_OWN = re.compile("([\x1b\r\x07\x08]+)")  # what draws colours, bars and lines anew


class VisibleStream:
    """A stream of text whose hidden characters are replaced; all else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text with hidden characters replaced, and return what the stream's own write returns."""
        if text.isascii():
            return self._stream.write(text)
        parts = _OWN.split(text)
        return self._stream.write("".join(part if at % 2 else visible(part) for at, part in enumerate(parts)))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the stream has it
        return getattr(self._stream, name)


def guard_terminal() -> None:
    """Let this process write to a terminal through VisibleStream alone. Programs at a pipe get every character."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and stream.isatty() and not isinstance(stream, VisibleStream):
            setattr(sys, name, VisibleStream(stream))
