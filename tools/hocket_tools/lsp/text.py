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
        """Return the number of units of a text."""
        return len(text.encode(self._codec)) // self._bytes

    def characters(self, text: str, units: int) -> int:
        """Return the number of characters that end within the first `units` of a text."""
        return len(text.encode(self._codec)[: units * self._bytes].decode(self._codec, "ignore"))


class Text:
    """An immutable text; a change makes another one."""

    def __init__(self, characters: str, units: Units) -> None:
        self.characters = characters
        self._units = units

    def changed(self, change: TextDocumentContentChangeEvent) -> tuple[Text, int | None]:
        """Return the text after a change, and the offset where the change ends; None where all of it is replaced."""
        piece = unicode(change.text)
        if not isinstance(change, TextDocumentContentChangePartial):
            return Text(piece, self._units), None
        start, end = sorted((self.offset(change.range.start), self.offset(change.range.end)))
        return Text(self.characters[:start] + piece + self.characters[end:], self._units), start + len(piece)

    def offset(self, position: Position) -> int:
        """Return a position as an offset in characters; past the end of a line, or of the last line, it is that end."""
        if position.line >= len(self._lines):
            return len(self.characters)
        start, end = self._lines[position.line]
        return start + self._units.characters(self.characters[start:end], position.character)

    def position(self, offset: int) -> Position:
        """Return the position of an offset in characters."""
        line = self._line_at(offset)
        return Position(line, self._units.count(self.characters[self._lines[line][0] : offset]))

    def range(self, start: int, end: int) -> Range:
        """Return the range from one offset to another."""
        return Range(self.position(start), self.position(end))

    def before(self, offset: int) -> str:
        """Return the part of a line before an offset in it."""
        return self.characters[self._lines[self._line_at(offset)][0] : offset]

    def _line_at(self, offset: int) -> int:
        return bisect_right(self._lines, offset, key=lambda line: line[0]) - 1

    @cached_property
    def _lines(self) -> list[tuple[int, int]]:
        """Return the start of each line, and its end before the line break."""
        breaks = [match.span() for match in _BREAK.finditer(self.characters)]
        starts = [0, *(end for _, end in breaks)]
        ends = [*(start for start, _ in breaks), len(self.characters)]
        return list(zip(starts, ends, strict=True))


def unicode(text: str) -> str:
    """A text as it was sent, with U+FFFD for each half of a character that was sent without the other one."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
