"""Lines on a page in the order in which people read them: columns one after another, rows of a table row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

_MIN_IN_COLUMN = 3  # lines; what has fewer is a part of its rows
_MIN_COLUMN_WIDTH = 10  # times the height of a line; narrower ones are a table's
_PARAGRAPH = 0.9  # times the height of a line that lie between two paragraphs


class Line(NamedTuple):
    """A piece of text and where on the page it stands, in pixels from the upper left corner."""

    left: float
    top: float
    right: float
    bottom: float
    text: str


def in_reading_order(lines: Sequence[Line]) -> str:
    """Return the text of lines in reading order; a blank line stands between paragraphs."""
    return "\n\n".join(_column(column) for column in _columns(lines) if column)


def _columns(lines: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """Yield the page's columns; a line across several, as a title, separates what is above it from what is below."""
    gap = _gutter(lines)
    if gap is None:
        yield lines
        return
    across = sorted((line for line in lines if line.left < gap < line.right), key=_top)
    borders = [float("-inf"), *(line.top for line in across), float("inf")]
    for number, (upper, lower) in enumerate(pairwise(borders)):
        between = [line for line in lines if upper <= line.top < lower and line not in across]
        yield across[number - 1 : number] if number else []
        yield from _columns([line for line in between if line.right <= gap])
        yield from _columns([line for line in between if line.left >= gap])


def _gutter(lines: Sequence[Line]) -> float | None:
    """Return where between two columns a gap goes down that few lines reach over; None where there is none."""
    if len(lines) < 2 * _MIN_IN_COLUMN:
        return None
    wide = _MIN_COLUMN_WIDTH * median(line.bottom - line.top for line in lines)
    for gap in sorted({line.left - 1 for line in lines}):
        left = [line for line in lines if line.right <= gap]
        right = [line for line in lines if line.left >= gap]
        crossing = len(lines) - len(left) - len(right)
        if crossing * 5 <= len(lines) and all(_is_column(side, wide) for side in (left, right)):
            return gap
    return None


def _is_column(lines: Sequence[Line], wide: float) -> bool:
    return len(lines) >= _MIN_IN_COLUMN and median(line.right - line.left for line in lines) >= wide


def _column(lines: Sequence[Line]) -> str:
    rows: list[list[Line]] = []
    for line in sorted(lines, key=_top):
        if rows and (line.top + line.bottom) / 2 < rows[-1][0].bottom:
            rows[-1].append(line)
        else:
            rows.append([line])
    text = ""
    for number, row in enumerate(rows):
        if number:
            above = rows[number - 1][0]
            text += "\n\n" if row[0].top - above.bottom > _PARAGRAPH * (above.bottom - above.top) else "\n"
        text += " ".join(line.text for line in sorted(row))
    return text


def _top(line: Line) -> float:
    return line.top
