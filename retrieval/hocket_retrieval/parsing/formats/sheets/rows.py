"""The text of each row of a sheet: which rows name columns, which values are below these names, and what is a title."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from ..content import MAX_SECTIONS, Section, listed
from .column_names import are_names, filled, kind, names_at, pairs

_GAP = 2  # blank rows behind which whatever looks like names begins a table
_TELLING = 100  # rows of a table, by which it is told what its columns hold


class Row(NamedTuple):
    """A row that says something: its number in the file, and its values, empty where there are none."""

    number: int
    values: Sequence[str]


class Merged(NamedTuple):
    """A cell over several: its first row, by its number, and column, and its last ones."""

    row: int
    column: int
    last_row: int
    last_column: int


def row_texts(rows: Sequence[Row], merged: Sequence[Merged] = ()) -> Iterator[tuple[int, str]]:
    """Yield (number, text) of each row, each value after the name of its column; rows of names have no text."""
    whole = _down(rows, merged)
    named = names_at(_across(whole, merged))
    for number, values in whole[: named or 0]:
        yield number, labelled([], values)
    table, below = _Table(whole[named or 0 :], merged), whole[named or 0 :]
    for at, row in enumerate(below):
        gap = row.number - below[at - 1].number - 1 if at else _GAP
        behind = below[at + 1] if at + 1 < len(below) else Row(0, ())
        if named is not None and not at:
            table.begin(row)
        elif table.enter(row, gap, behind.values if behind.number == row.number + 1 else None):
            yield row.number, table.text(row)


def labelled(names: Sequence[str], values: Sequence[str]) -> str:
    """The values of a row that are there, as `name: value`."""
    pairs = [f"{name}: {value}" if name else value for name, value in zip(names, values, strict=False) if value]
    parts = [*pairs, *filter(None, values[len(names) :])]
    return "".join(
        part if before is None else f" {part}" if before.endswith(":") else f", {part}"
        for before, part in zip([None, *parts], parts, strict=False)
    )


def sections(rows: Sequence[tuple[int, str]], most: int = MAX_SECTIONS, place: str = "") -> Iterator[Section]:
    """Yield a section for each row that says something, or for as many as it takes to have no more than `most`."""
    step = ceil(len(rows) / most) or 1
    for at in range(0, len(rows), step):
        some = rows[at : at + step]
        first, last = some[0][0], some[-1][0]
        row = f"row {first}" if first == last else f"rows {first}–{last}"
        yield Section("\n\n".join(text for _, text in some), listed(place, row))


class _Table:
    """The table that a row is in: the names of its columns, and the kinds of values that they have."""

    def __init__(self, rows: Sequence[Row], merged: Sequence[Merged]) -> None:
        self._names: list[str] = []
        self._kinds: dict[int, set[str]] = defaultdict(set)
        self._seen = 0  # rows
        self._is_new = True  # so that names may follow
        self._is_named_twice = False  # by this row and the one behind it
        self._is_list = max((sum(map(bool, row.values)) for row in rows), default=0) == 1
        self._wide = defaultdict[int, list[Merged]](list)
        for cell in merged:
            if cell.last_column > cell.column:
                self._wide[cell.row].append(cell)

    def enter(self, row: Row, gap: int, behind: Sequence[str] | None) -> bool:
        """Go on to a row, after `gap` blank ones and before the values `behind`; False where it names columns."""
        columns = filled(row.values)
        if self._is_named_twice:
            self._is_named_twice = False
            if behind is not None and are_names(row.values, behind):
                self._names = [_both(above, below) for above, below in pairs(self._names, row.values)]
                return False
        if behind is not None and self._has_names(row.values, gap, behind):
            self.begin(row)
            return False
        if len(columns) == 1 and not self._is_list and (gap or self._is_new):
            self._is_new = True
            return True
        self._is_new = False
        if self._seen < _TELLING:
            self._seen += 1
            for column in columns:
                self._kinds[column].add(kind(row.values[column]))
        return True

    def text(self, row: Row) -> str:
        """Return the text of a row. A title has no name before it."""
        return labelled([] if self._is_new else self._names, row.values)

    def _has_names(self, values: Sequence[str], gap: int, behind: Sequence[str]) -> bool:
        if not self._is_new and not (gap and self._names):
            return False
        if len(filled(values)) < (1 if self._is_list else 2) or not are_names(values, behind):
            return False
        if self._is_new:
            return True
        return {*filled(behind)} <= {*filled(values)} and (gap >= _GAP or (gap > 0 and self._differs(values)))

    def _differs(self, values: Sequence[str]) -> bool:
        """Tell whether there are texts where the table has none: in columns of numbers, or beside it."""
        return any(
            column >= len(self._names) or not self._names[column] or self._kinds[column].isdisjoint(("text", ""))
            for column in filled(values)
        )

    def begin(self, row: Row) -> None:
        """Take a row for the names of columns."""
        self._names, self._kinds, self._seen, self._is_new = _bare(row.values), defaultdict(set), 0, False
        for cell in self._wide.get(row.number, ()):
            reach = min(cell.last_column, len(self._names) - 1)
            self._names[cell.column : reach + 1] = [self._names[cell.column]] * (reach + 1 - cell.column)
            self._is_named_twice = True


def _bare(names: Sequence[str]) -> list[str]:
    """Return the names without the sign that makes the line a remark for programs."""
    first, *others = names
    return [first.lstrip("#").lstrip() or first, *others]


def _both(above: str, below: str) -> str:
    return above if above == below else " ".join(filter(None, (above, below)))


def _across(rows: Sequence[Row], merged: Sequence[Merged]) -> list[Row]:
    """Return the rows with the value of a cell that spans several columns in each of them."""
    wide = {(cell.row, cell.column): cell.last_column for cell in merged}
    made = []
    for number, values in rows:
        across = list(values)
        for column in filled(values):
            last = min(wide.get((number, column), column), len(values) - 1)
            across[column : last + 1] = [values[column]] * (last + 1 - column)
        made.append(Row(number, across))
    return made


def _down(rows: Sequence[Row], merged: Sequence[Merged]) -> list[Row]:
    """Return the rows with the value of a cell that spans several rows in each of them."""
    begins: Mapping[int, list[Merged]] = defaultdict(list)
    for cell in merged:
        if cell.last_row > cell.row:
            begins[cell.row].append(cell)
    if not begins:
        return list(rows)
    open_cells: dict[int, tuple[str, int]] = {}
    made = []
    for number, values in rows:
        open_cells = {column: cell for column, cell in open_cells.items() if cell[1] >= number}
        filled = [value or open_cells.get(column, ("", 0))[0] for column, value in enumerate(values)]
        open_cells |= {cell.column: (values[cell.column], cell.last_row) for cell in begins.get(number, ())}
        made.append(Row(number, filled))
    return made
