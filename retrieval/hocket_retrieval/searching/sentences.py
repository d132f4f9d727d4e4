"""The sentences of passages that are nearest a query: an extract, written by nobody.

A row of a list or of a table is a sentence of its own, each value of a table behind the name of its column: of rows in
one sentence nobody can tell whose value is whose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..embedding.embedder import Embedder
from ..parsing.formats.sheets.rows import labelled
from ..text.chunking import sentences
from .search import Passage

MAX_SENTENCES = 48  # that are embedded for one query: about 5 ms each on one core
WITHIN = 0.2  # of the nearest sentence's cosine: what is further away is about something else
MIN_WORDS = 4  # of a sentence that says anything by itself
MIN_IN_ROW = 2  # of a row: a name and a value
MAX_IN_ROW = 12  # words: longer lines are those of a paragraph
JOINED = " "
CELL = " | "  # between the values of a table's row
_NUMBERED = re.compile(r"(?m)^[^\S\n]*\d{1,3}[.)][^\S\n]+")  # a row that begins so, unless it is the only one
_MARK = re.compile(r"[-*+•–]\s+")
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a document on one line, and the cosine of query and sentence in [-1, 1]."""

    document: str
    text: str
    score: float


def extract(embedder: Embedder, query: str, passages: Sequence[Passage], count: int) -> list[Sentence]:
    """Return at most `count` different sentences of `passages`: the nearest, then those that are about as near."""
    found: dict[str, str] = {}
    for passage in passages:
        for text in _sentences(passage.text):
            found.setdefault(text, passage.document)
    texts = list(found)[:MAX_SENTENCES]
    if not texts:
        return []
    scores = np.clip(embedder.documents(texts) @ embedder.query(query), -1, 1)
    best = np.argsort(-scores, kind="stable")[:count]
    minimum = scores[best[0]] - WITHIN
    return [Sentence(found[texts[at]], texts[at], float(scores[at])) for at in best if scores[at] >= minimum]


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text that have enough words, each on one line."""
    text = _NUMBERED.sub("- ", text) if len(_NUMBERED.findall(text)) > 1 else text
    parts = [part for start, end in sentences(text) for part in _rows(text[start:end])]
    return [line for line, is_row in _named(parts) if len(line.split()) >= (MIN_IN_ROW if is_row else MIN_WORDS)]


def _rows(sentence: str) -> list[tuple[str, bool]]:
    """The rows of a list without their marks, or the sentence itself; each on one line, and whether it is a row."""
    lines = [JOINED.join(line.split()) for line in sentence.splitlines() if line.strip()]
    marked = sum(bool(_MARK.match(line) or _DIGIT.search(line)) for line in lines)
    if len(lines) > 1 and 2 * marked > len(lines) and all(len(line.split()) <= MAX_IN_ROW for line in lines):
        return [(_unmarked(line), True) for line in lines]
    line = JOINED.join(lines)
    return [(_unmarked(line), line != _unmarked(line) or CELL in line)] if line else []


def _unmarked(line: str) -> str:
    mark = _MARK.match(line)
    return line[mark.end() :] if mark else line


def _named(parts: Iterable[tuple[str, bool]]) -> Iterator[tuple[str, bool]]:
    """Yield the parts, with the names of columns in a table's rows where a row without a digit gives them."""
    names = list[str]()
    for line, is_row in parts:
        cells = line.split(CELL) if is_row else []
        if len(cells) > 1 and len(cells) == len(names):
            yield labelled(names, cells), True
        elif len(cells) > 1 and not _DIGIT.search(line):
            names = cells
        else:
            names = []
            yield line, is_row
