"""Tables as rows that say what each of their values is."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence

from ..content import Content, Section
from ..encodings import decoded
from .rows import Row, labelled, row_texts, sections

_DELIMITERS = ",;\t|"
_SEARCHED = 4096  # characters
_QUOTED = re.compile(r'"[^"]*"')
_FOR_EXCEL = re.compile(r"\A\s*sep=.\r?\n")  # a line that Excel does not show
_NAME = re.compile(r"[^\W\d_][^.!?]*")
_PIPE, _ESCAPED, _RULE = re.compile(r"(?<!\\)\|"), re.compile(r"\\([|])"), re.compile(r":?-+:?")
MAX_SHORT_ROWS = 8  # which a passage holds together with the names of the columns
MIN_COLUMNS, MIN_ROWS = 3, 3  # of a text that is a table by its form alone


def separated(data: bytes) -> Content:
    """A table, mostly one whose first row names its columns. Raises DocumentError."""
    text = _FOR_EXCEL.sub("", decoded(data))
    return Content("", _with_names(text, _delimiter(text)))


def plain(data: bytes) -> Content:
    """A text as it is, or a table where every line of it has as many values as the first. Raises DocumentError."""
    text = decoded(data)
    first = text.strip().partition("\n")[0]
    delimiter = next((sign for sign in _DELIMITERS if first.count(sign) >= MIN_COLUMNS - 1), "")
    if delimiter and _has_names(first, delimiter):
        lines = text.strip().splitlines()
        if len(lines) >= MIN_ROWS and all(line.count(delimiter) == first.count(delimiter) for line in lines):
            return Content("", _with_names(text, delimiter))
    return Content("", [Section(text)])


def as_written(data: bytes) -> Content:
    """A text, whatever it looks like. Raises DocumentError."""
    return Content("", [Section(decoded(data))])


def _has_names(line: str, delimiter: str) -> bool:
    """Tell whether a line looks like names of columns: each begins with a letter, and none ends a sentence."""
    return all(_NAME.fullmatch(field.strip()) for field in line.split(delimiter))


def _delimiter(text: str) -> str:
    """The sign that most lines hold equally often; decimal commas and titles do not."""
    lines = _QUOTED.sub("", text[:_SEARCHED]).splitlines()

    def agreed(sign: str) -> tuple[int, int]:
        counts = Counter(line.count(sign) for line in lines if sign in line)
        return max(((lines, count) for count, lines in counts.items()), default=(0, 0))

    return max(_DELIMITERS, key=agreed)


def _with_names(text: str, delimiter: str) -> list[Section]:
    """A section for each row, or for as many as it takes where there are very many."""
    rows = [Row(number, [value.strip() for value in values]) for number, values in enumerate(_read(text, delimiter), 1)]
    return list(sections(list(row_texts([row for row in rows if any(row.values)]))))


def _read(text: str, delimiter: str) -> list[list[str]]:
    """The values of all rows; where a quotation mark has no other, it is one that is meant, as of inches."""
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:
        return [line.split(delimiter) for line in text.splitlines()]


def named(rows: Sequence[Sequence[str]]) -> str:
    """Return each row after the first as a paragraph, `name: value` of all values that are there."""
    names, *others = _stripped(rows)
    return "\n\n".join(filter(None, (labelled(names, row) for row in others))) or " | ".join(names)


def _stripped(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[value.strip() for value in row] for row in rows] or [[]]


def piped(lines: Sequence[str]) -> str:
    """A table of lines such as `| a | b |`: of a short one its rows as they are, of a long one with their names."""
    rows = [[_ESCAPED.sub(r"\1", cell).strip() for cell in _PIPE.split(_inner(line.strip()))] for line in lines]
    if len(rows) > 1 and all(map(_RULE.fullmatch, rows[1])):
        del rows[1]
    return in_words([row[:1] if len({*row}) == 1 else row for row in rows])  # a merged cell stands in all its columns


def in_words(rows: Sequence[Sequence[str]]) -> str:
    """The rows of a short table as they are, of a long one with the names of its columns."""
    return named(rows) if len(rows) > MAX_SHORT_ROWS else "\n\n".join(" | ".join(row) for row in rows)


def _inner(line: str) -> str:
    """Return a line without the bars at its ends: a value there may be missing, or end with one."""
    return line.removeprefix("|").removesuffix("" if line.endswith("\\|") else "|")
