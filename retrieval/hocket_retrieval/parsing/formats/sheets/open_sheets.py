"""The merged cells of an OpenDocument spreadsheet, of which calamine says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from xml.parsers import expat

from .rows import Merged

_CELLS = frozenset(("table:table-cell", "table:covered-table-cell"))


def merged_cells(content: bytes) -> list[list[Merged]]:
    """Return the merged cells of each sheet of a content.xml, rows and columns from 1 on. Raises expat.ExpatError."""
    cells, parser = _Cells(), expat.ParserCreate()
    parser.StartElementHandler = cells.enter
    parser.Parse(content, True)
    return cells.found


class _Cells:
    """The places of a sheet's cells while its elements are parsed; one element may stand for many cells."""

    def __init__(self) -> None:
        self.found: list[list[Merged]] = []
        self._row = self._rows = self._column = 1

    def enter(self, name: str, attributes: Mapping[str, str]) -> None:
        """Take in the start of an element."""
        if name == "table:table":
            self.found.append([])
            self._rows = 1
        elif name == "table:table-row":
            self._row, self._column = self._rows, 1
            self._rows += _number(attributes, "table:number-rows-repeated")
        elif name in _CELLS and self.found:
            tall, wide = (_number(attributes, f"table:number-{each}-spanned") for each in ("rows", "columns"))
            if tall > 1 or wide > 1:
                last = self._row + tall - 1, self._column + wide - 1
                self.found[-1].append(Merged(self._row, self._column, *last))
            self._column += _number(attributes, "table:number-columns-repeated")


def _number(attributes: Mapping[str, str], name: str) -> int:
    text = attributes.get(name, "1")
    return int(text) if text.isdecimal() else 1
