"""The outline of a text: the places of its parts in the file, each with the offset from where it holds. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from ..text.chunking import Borders
from .formats.content import MAX_SECTIONS, Section

if TYPE_CHECKING:
    from ..stores.records import Outline

MAX_PLACES = MAX_SECTIONS + 2  # more than one reader makes of a file; a box has many mails
MAX_PLACE_CHARS = 200
MAX_ROWS = 2_000  # of a table of which each is a passage of its own
_PARAGRAPH = "\n\n"
_ROW = re.compile(r"(?:\A|, )(?P<row>rows? (?P<first>\d+)(?:–(?P<last>\d+))?)\Z")

_OWN = re.compile(r'(?:\A|, )(?:event|task|entry|contact) (?:\d+|"[^"]*")\Z')


def joined(sections: Iterable[Section]) -> tuple[str, Outline]:
    """Return the text of all sections and its outline; beyond MAX_PLACES no places are known."""
    parts: list[str] = []
    outline: list[tuple[int, str]] = []
    size, last = 0, ""
    for section in sections:
        if not section.text:
            continue
        if parts:
            parts.append(" " if section.joined else _PARAGRAPH)
            size += len(parts[-1])
        if section.place != last and len(outline) < MAX_PLACES:
            last = section.place if len(outline) < MAX_PLACES - 1 else ""
            outline.append((size, last))
        parts.append(section.text)
        size += len(section.text)
    return "".join(parts), tuple(outline)


def borders(outline: Outline) -> Borders:
    """Return where passages had better end: at headings, pages, sheets and slides.

    And where they have to: at rows of a table, events and contacts. Of more than MAX_ROWS several share passages, since
    each takes a vector.
    """
    is_row = [bool(_ROW.search(place) or _OWN.search(place)) for _, place in outline]
    rows = [offset for (offset, _), must in zip(outline, is_row, strict=True) if must]
    better = [offset for (offset, _), must in zip(outline, is_row, strict=True) if not must]
    return Borders(better, rows if len(rows) <= MAX_ROWS else ())


def place_of(outline: Outline, start: int, end: int) -> str:
    """The place of a passage: the one that most of it is in, or all rows of a table that it has."""
    first = max(bisect_right(outline, start, key=_offset) - 1, 0)
    held = outline[first : bisect_left(outline, end, key=_offset)]
    if not held:
        return ""
    if row := _ROW.search(held[0][1]):
        return _rows(row, held[-1][1])
    starts = [max(offset, start) for offset, _ in held]
    sizes = [behind - before for before, behind in pairwise([*starts, end])]
    unknown = max(held[0][0] - start, 0)
    longest = max(range(len(held)), key=sizes.__getitem__)
    return held[longest][1] if sizes[longest] >= unknown else ""


def is_sound(outline: Sequence[tuple[int, str]], size: int) -> bool:
    """Tell whether an outline fits a text of this size: growing offsets in it, and a place in one line at each."""
    offsets = [offset for offset, _ in outline]
    grows = all(before < behind for before, behind in pairwise(offsets))
    inside = not offsets or 0 <= offsets[0] <= offsets[-1] < size
    return grows and inside and all(place.isprintable() for _, place in outline)


def _rows(first: re.Match[str], place: str) -> str:
    """Return one place for the rows from one place to another of the same table."""
    last, table = _ROW.search(place), first.string[: first.start("row")]
    if last is None or place[: last.start("row")] != table or first.string == place:
        return first.string
    return f"{table}rows {first['first']}–{last['last'] or last['first']}"


def _offset(entry: tuple[int, str]) -> int:
    return entry[0]
