"""The row of a table that names its columns: one of texts above values, perhaps after titles and other lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

_DATE = re.compile(r"(?:19|20)\d\d|\d{4}-\d\d-\d\d.*|\d{1,2}[./]\d{1,2}[./]\d{2,4}(?:[ T]\d\d?:\d\d.*)?")
_NUMBER = re.compile(r"[^\w\d]{0,3}\d[\d.,:/'\s+-]{0,32}[^\w\d]{0,3}\w{0,3}|true|false", re.IGNORECASE)
_ADDRESS = re.compile(r"[^\s@]+@[^\s@]+|https?://\S+")
_NAME_CHARS = 100  # of a longer text it is not supposed that it names a column
_SEARCHED, _TELLING = 60, 20  # rows in which names are looked for, and rows below them that are looked at
_FITTING = 0.8  # of these rows, that have values in columns with names alone
_WIDE = 3  # columns, fewer of which a line of a name and its value has, too
Lines = Sequence[tuple[int, Sequence[str]]]  # (number, values) of each row that says something


def are_names(values: Sequence[str], behind: Sequence[str]) -> bool:
    """Tell whether values look like names of columns: all are texts, or years and days above what is none."""
    kinds = [(kind(value), kind(below)) for value, below in pairs(values, behind) if value]
    is_short = all(len(value) <= _NAME_CHARS and not value.endswith(":") for value in values)
    return is_short and kinds[0][0] != "number" and all(a == "text" or (a == "date" and b != "date") for a, b in kinds)


def kind(value: str) -> str:
    """Return the kind of a value: "date", "number", "text", or nothing."""
    if _DATE.fullmatch(value):
        return "date"
    digits = sum(map(str.isdigit, value))
    is_value = _NUMBER.fullmatch(value) or _ADDRESS.fullmatch(value) or (digits > 3 and 2 * digits > len(value))
    return "number" if is_value else "text" if value else ""


def filled(values: Sequence[str]) -> list[int]:
    """The columns in which there is a value."""
    return [column for column, value in enumerate(values) if value]


def pairs(above: Sequence[str], below: Sequence[str]) -> list[tuple[str, str]]:
    """Return each value and the one below it."""
    return [(value, below[at] if at < len(below) else "") for at, value in enumerate(above)]


def names_at(rows: Lines) -> int | None:
    """Return the index of the first row of names, judged by the rows below it; None where none is found.

    Above it may stand titles, remarks, and lines of a name and its value, which are no names of columns.
    """
    possible: int | None = None
    for at in range(min(len(rows) - 1, _SEARCHED)):
        below = _below(rows, at)
        if not below or not _fit(rows[at][1], below):
            continue
        wide = len(filled(rows[at][1])) >= _WIDE
        if _tell(rows[at][1], below) and not _goes_on(rows, at):
            return at if possible is None or wide else possible
        if wide and not any(len(filled(values)) > 1 for _, values in rows[:at]):
            return at
        if wide and _gap(rows, at):
            return at
        possible = at if possible is None and not wide else possible
    return None


def _below(rows: Lines, at: int) -> list[Sequence[str]]:
    """Return the rows below one up to the first gap; where blank lines separate all rows, these are no gaps."""
    step = rows[at + 1][0] - rows[at][0]
    if step > 2 or (step == 2 and len(filled(rows[at][1])) < _WIDE):
        return []
    found = []
    for (before, _), (number, values) in zip(rows[at:], rows[at + 1 : at + 1 + _TELLING], strict=False):
        if number - before > step:
            break
        found.append(values)
    return found


def _fit(names: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Tell whether these names may name the rows below: years and days name numbers alone."""
    columns = {*filled(names)}
    fitting = sum({*filled(values)} <= columns for values in below)
    if len(columns) < 2 or fitting < _FITTING * len(below) or not are_names(names, below[0]):
        return False
    return all(_are_values(below, column) for column in columns if kind(names[column]) == "date")


def _tell(names: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Tell whether there are values in a column whose name is a text."""
    return any(_are_values(below, column) for column in filled(names) if kind(names[column]) == "text")


def _are_values(rows: Sequence[Sequence[str]], column: int) -> bool:
    kinds = [kind(values[column]) for values in rows if column < len(values) and values[column]]
    return 2 * sum(each != "text" for each in kinds) >= len(kinds) > 0


def _goes_on(rows: Lines, at: int) -> bool:
    """Tell whether the rows right above and right below hold the same kinds, so that this one is like them."""
    return at > 0 and not _gap(rows, at) and _kinds(rows[at - 1][1]) == _kinds(rows[at + 1][1])


def _gap(rows: Lines, at: int) -> bool:
    return at > 0 and rows[at][0] - rows[at - 1][0] > 1


def _kinds(values: Sequence[str]) -> list[tuple[int, str]]:
    return [(column, kind(values[column])) for column in filled(values)]
