"""Spreadsheets by calamine: each row of each sheet a section, at the number that the program shows beside it."""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import unescape
from typing import TYPE_CHECKING

from ..content import MAX_SECTIONS, Content, Section
from ..packages.media import Media
from ..packages.open_document import packaged
from ..packages.package import changed
from ..pictures.embedded import Pictures
from .number_formats import of_excel, of_open_document
from .open_sheets import merged_cells
from .rows import Merged, Row, row_texts, sections

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".fods")
_TITLE = re.compile(rb"<dc:title[^<>]*>([^<>]*)<")
_WITH_TITLE, _CONTENT = ("docProps/core.xml", "meta.xml"), "content.xml"
Cell = int | float | str | bool | datetime.time | datetime.date | datetime.timedelta


def sheets(data: bytes, pictures: Pictures, suffix: str) -> Content:
    """Read all rows of all sheets, hidden ones too, with the values that formulas had; and their pictures."""
    from python_calamine import CalamineWorkbook

    package, whole = _Package(), packaged(data, "spreadsheet") if suffix == ".fods" else data
    book = CalamineWorkbook.from_filelike(io.BytesIO(changed(whole, package.prepared)))
    names, found, media = book.sheet_names, list[Section](), Media(data)
    drawn, noted = media.of_sheets(), media.beside_cells()
    for number, name in enumerate(names):
        sheet = book.get_sheet_by_name(name)
        rows = list(row_texts(_rows(sheet), _merged(sheet, package.merged[number : number + 1])))
        found += _named(name, sections(rows, MAX_SECTIONS // len(names) or 1, f"sheet {name}"))
        found += [Section(text, f"sheet {name}, notes") for text in noted[number : number + 1] if text]
        found += [pictures.section(shown, f"sheet {name}") for each in drawn[number : number + 1] for shown in each]
    return Content(package.title, found)


class _Package:
    """The title and the merged cells of a file, read from its parts before calamine reads them."""

    def __init__(self) -> None:
        self.title = ""
        self.merged: list[list[Merged]] = []  # of each sheet, where calamine does not know them

    def prepared(self, parts: Mapping[str, bytes]) -> Mapping[str, bytes]:
        self.title = next(filter(None, (_title(parts[name]) for name in _WITH_TITLE if name in parts)), "")
        if _CONTENT not in parts:
            return of_excel(parts)
        new = of_open_document(parts[_CONTENT])
        self.merged = merged_cells(new)
        return {_CONTENT: new}


def _rows(sheet: CalamineSheet) -> list[Row]:
    """Return the rows that hold something, with the values from the first column on that does."""
    top = sheet.start[0] if sheet.start else 0
    rows = (Row(top + at, [shown(value) for value in values]) for at, values in enumerate(sheet.to_python(), 1))
    return [row for row in rows if any(row.values)]


def _merged(sheet: CalamineSheet, known: Sequence[Sequence[Merged]]) -> list[Merged]:
    """Merged cells, with columns counted as in the rows."""
    left = sheet.start[1] if sheet.start else 0
    own = [Merged(a + 1, b + 1, c + 1, d + 1) for (a, b), (c, d) in sheet.merged_cell_ranges or ()]
    cells = own or [cell for each in known for cell in each]
    return [
        cell._replace(column=cell.column - left - 1, last_column=cell.last_column - left - 1)
        for cell in cells
        if cell.column > left
    ]


def _named(name: str, rows: Iterable[Section]) -> Iterator[Section]:
    """Put the sheet's name before its first row; alone it would be a passage that says nothing."""
    head = f"{name}\n\n"
    for section in rows:
        yield section._replace(text=head + section.text)
        head = ""


def shown(value: Cell) -> str:
    """The text of a cell: days as in ISO 8601, seconds where they are not zero, numbers with their 15 digits."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
    if isinstance(value, datetime.timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ", "seconds").removesuffix(":00")
    if isinstance(value, datetime.time):
        return value.isoformat("seconds").removesuffix(":00")
    return str(value).strip()


def _title(part: bytes) -> str:
    title = _TITLE.search(part)
    return unescape(title[1].decode("utf-8", "replace")).strip() if title else ""
