"""The text of a document, and the places in it that editors count in lines and code units."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

from lsprotocol.types import (
    Position,
    PositionEncodingKind,
    Range,
    TextDocumentContentChangeEvent,
    TextDocumentContentChangePartial,
)

_BREAK = re.compile(r"\r\n|\n|\r")
_CODECS = {
    PositionEncodingKind.Utf8: ("utf-8", 1),
    PositionEncodingKind.Utf16: ("utf-16-le", 2),
    PositionEncodingKind.Utf32: ("utf-32-le", 4),
}


class Units:
    """The code units of an encoding."""

    def __init__(self, encoding: PositionEncodingKind = PositionEncodingKind.Utf16) -> None:
        self._codec, self._bytes = _CODECS[encoding]

    def count(self, text: str) -> int:
        """How many a text has."""
        return len(text.encode(self._codec)) // self._bytes

    def characters(self, text: str, units: int) -> int:
        """How many characters end within the first `units` of a text."""
        return len(text.encode(self._codec)[: units * self._bytes].decode(self._codec, "ignore"))


class Text:
    """A text that does not change: a change makes another one."""

    def __init__(self, characters: str, units: Units) -> None:
        self.characters = characters
        self._units = units

    def changed(self, change: TextDocumentContentChangeEvent) -> tuple[Text, int | None]:
        """The text after a change, and where that ends in it; None where all is replaced."""
        piece = unicode(change.text)
        if not isinstance(change, TextDocumentContentChangePartial):
            return Text(piece, self._units), None
        start, end = sorted((self.offset(change.range.start), self.offset(change.range.end)))
        return Text(self.characters[:start] + piece + self.characters[end:], self._units), start + len(piece)

    def offset(self, position: Position) -> int:
        """A place in characters; what is behind a line's end, or behind the last line, is that end."""
        if position.line >= len(self._lines):
            return len(self.characters)
        start, end = self._lines[position.line]
        return start + self._units.characters(self.characters[start:end], position.character)

    def position(self, offset: int) -> Position:
        """Where a place is that is counted in characters."""
        line = self._line_at(offset)
        return Position(line, self._units.count(self.characters[self._lines[line][0] : offset]))

    def range(self, start: int, end: int) -> Range:
        """From one place to another one."""
        return Range(self.position(start), self.position(end))

    def before(self, offset: int) -> str:
        """What stands before a place in its line."""
        return self.characters[self._lines[self._line_at(offset)][0] : offset]

    def _line_at(self, offset: int) -> int:
        return bisect_right(self._lines, offset, key=lambda line: line[0]) - 1

    @cached_property
    def _lines(self) -> list[tuple[int, int]]:
        """Where each begins, and where it ends before its break."""
        breaks = [match.span() for match in _BREAK.finditer(self.characters)]
        starts = [0, *(end for _, end in breaks)]
        ends = [*(start for start, _ in breaks), len(self.characters)]
        return list(zip(starts, ends, strict=True))


def unicode(text: str) -> str:
    """A text as it was sent, with U+FFFD for each half of a character that was sent without the other one."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
