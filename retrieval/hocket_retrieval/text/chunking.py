"""A text as chunks that end at sentence borders; knows plain text only, neither files nor models.

A word is a run of up to 32 characters without white space; a longer run counts as several, and so does text in scripts
written without spaces, where each character counts. A chunk is an exact slice of the text.

Law: between two chunks lies white space at most, so their words in order are the text's; and no chunk has more words
than the limit, without exception. A chunk that is a quarter full ends where a heading or a page begins, and every chunk
where a row of a table does: a reader of several rows takes one's value for another's.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import ceil
from typing import NamedTuple

DEFAULT_WORDS = 64
MIN_WORDS = 8
MAX_WORDS = 512
ENOUGH = 4  # of a chunk the part from where on it ends at a border

# Thai to Khmer, kana and the Han ideographs are written without spaces between words.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]{{1,32}}")
# A run of marks or of white space is looked at from its start alone, so that time is linear in hostile texts, too.
_BORDER = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s)|[。！？]+[」』”]*|(?<!\s)\s*\n[^\S\n]*\n")
_NEXT_OPENS = re.compile(r"\s*(?:[^a-z\s,;:]|$)")
_ABBREVIATED = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|Gen|Col|Lt|Sgt|Capt|Rev|No|Fig|Eq|vs|cf|al|[ie]\.[ge]|[A-Z])\.$")


def chunk(text: str, limit: int = DEFAULT_WORDS) -> list[str]:
    """Slices of `text` of at most `limit` words, whole sentences where they fit; [] for white space."""
    return [text[start:end] for start, end in spans(text, limit)]


class Borders(NamedTuple):
    """Ascending offsets in a text: where a slice had better end, and where it has to."""

    better: Sequence[int] = ()
    must: Sequence[int] = ()


NO_BORDERS = Borders()


def spans(text: str, limit: int = DEFAULT_WORDS, borders: Borders = NO_BORDERS) -> Iterator[tuple[int, int]]:
    """Return (start, end) of the chunks of a text of at most `limit` words each, in their order."""
    return _pack((piece for sentence in sentences(text) for piece in _cut(text, sentence, limit)), limit, borders)


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each sentence of `text`; blank lines end a sentence too."""
    start = 0
    for mark in _BORDER.finditer(text):
        if _ends_sentence(text, mark):
            yield start, mark.end()
            start = mark.end()
    yield start, len(text)


def _ends_sentence(text: str, mark: re.Match[str]) -> bool:
    if mark[0].isspace() or mark[0][0] in "。！？":
        return True
    head = text[max(0, mark.start() - 8) : mark.end()]
    return bool(_NEXT_OPENS.match(text, mark.end())) and not _ABBREVIATED.search(head)


def _cut(text: str, sentence: tuple[int, int], limit: int) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, words) of a sentence, in even pieces when it is longer than the limit."""
    words = [match.span() for match in _WORD.finditer(text, *sentence)]
    parts = ceil(len(words) / limit)
    for first, last in pairwise(len(words) * part // parts for part in range(parts + 1)) if parts else ():
        yield words[first][0], words[last - 1][1], last - first


def _pack(fragments: Iterable[tuple[int, int, int]], limit: int, borders: Borders) -> Iterator[tuple[int, int]]:
    """Join neighbouring pieces while they fit and no border is between them that ends a chunk of this size."""
    held: tuple[int, int, int] | None = None
    better, must = deque(borders.better), deque(borders.must)
    for start, end, words in fragments:
        at_better, at_must = _passed(better, start), _passed(must, start)
        ends = at_must or (at_better and held is not None and ENOUGH * held[2] >= limit)
        if held and held[2] + words <= limit and not ends:
            held = held[0], end, held[2] + words
            continue
        if held:
            yield held[:2]
        held = start, end, words
    if held:
        yield held[:2]


def _passed(ahead: deque[int], start: int) -> bool:
    """Tell whether one of the offsets ahead is reached; drop those that are."""
    reached = bool(ahead) and ahead[0] <= start
    while ahead and ahead[0] <= start:
        ahead.popleft()
    return reached
