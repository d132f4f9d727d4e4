"""Marks in the text of an answer: `[1]` after a sentence that comes mostly from one passage, by the measured shares.

They are no tokens: the same seed draws the same answer with and without them. A stream is marked as it is written. The
cloud names its passages only at the end. So a sentence from them has its mark in a whole answer, but in a stream only
if it is the last one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hocket_bus.messages import Done, Origin, Token

from .sentences import first_letter, has_end, sentences

MOST = 0.5  # of a sentence: its passage has more
BLANK = "\u00a0"  # keeps a mark on its sentence's line, and tells it from brackets that a model writes
_MARK = re.compile(BLANK + r"\[[0-9]+\]")
Place = tuple[str, str, str, int]


def unmarked(text: str) -> str:
    """Return an answer that a client sends back, without its marks."""
    return _MARK.sub("", text)


class Marks:
    """The marks of one answer. Each text that is added is returned with the marks that are due in it."""

    def __init__(self) -> None:
        self._numbers: dict[Place, int] = {}
        self._inserted: list[tuple[int, int]] = []  # where in the answer, and how many characters
        self._text = ""
        self._open = 0  # where the sentence begins that is being written
        self._unmarked = 0  # where the one before it began if it has no mark, else the same
        self._begins: list[int] = []  # where in the answer each token's first letter is
        self._places: Sequence[Origin] = ()
        self._rows: list[list[float]] = []  # of each token

    def number(self, origin: Origin) -> int | None:
        """Return the passage's number, from 1 on; None if no mark names it."""
        return self._numbers.get(_place(origin))

    def shifted(self, at: int) -> int:
        """Convert a position in the answer to one in the marked text."""
        return at + sum(length for place, length in self._inserted if place < at)

    def token(self, token: Token) -> str:
        """Return the token's text; sentences that end before or in it are marked, if their passage is known by now."""
        begin = len(self._text)
        self._places = self._places or token.places
        self._rows.append(token.shares[:-1])  # the last one is that of whatever the other side has read
        self._grow(token.text)
        return self._marked(begin, is_whole=False)

    def end(self, done: Done) -> str:
        """Return what follows the last token."""
        if done.token_sources:
            self._places, self._rows = done.sources, done.token_sources
        if not self._text[self._open :].strip():
            self._open = self._unmarked
        return self._marked(len(self._text), is_whole=True)

    def whole(self, done: Done, texts: Sequence[str]) -> str:
        """Return the whole marked text of an answer of these tokens."""
        self._places, self._rows = done.sources, done.token_sources
        for text in texts:
            self._grow(text)
        return self._marked(0, is_whole=True)

    def _grow(self, text: str) -> None:
        self._begins.append(len(self._text) + first_letter(text))
        self._text += text

    def _marked(self, begin: int, *, is_whole: bool) -> str:
        """Return the text from `begin` on, with the marks of the sentences that have ended."""
        parts, at, offset = list[str](), begin, self._open
        for start, end in sentences(self._text[offset:], is_whole=is_whole):
            self._open = end + offset
            until = max(at, self._open)
            is_last = is_whole and not self._text[self._open :].strip()
            mark = self._mark(start + offset, self._open, until, is_last=is_last)
            self._unmarked = self._open if mark else start + offset
            parts += [self._text[at:until], mark]
            at = until
        return "".join([*parts, self._text[at:]])

    def _mark(self, start: int, end: int, at: int, *, is_last: bool) -> str:
        """Return the mark of a sentence, to be inserted at `at`, or nothing. The last sentence may lack a full stop."""
        sentence = self._text[start:end]
        if not (has_end(sentence) or is_last) or not any(map(str.isalpha, sentence)):
            return ""
        origin = self._most(start, end)
        if origin is None:
            return ""
        number = self._numbers.setdefault(_place(origin), len(self._numbers) + 1)
        mark = f"{BLANK}[{number}]"
        self._inserted.append((at, len(mark)))
        return mark

    def _most(self, start: int, end: int) -> Origin | None:
        """Return the passage that a sentence mostly comes from; None if there is none, or it has no name."""
        rows = [row for begin, row in zip(self._begins, self._rows, strict=False) if start <= begin < end]
        columns = zip(*(row for row in rows if len(row) == len(self._places)), strict=True)
        for origin, shares in zip(self._places, columns, strict=False):
            if origin.document and sum(shares) > MOST * len(rows):
                return origin
        return None


def _place(origin: Origin) -> Place:
    """Return what identifies a passage."""
    return (origin.side, origin.device, origin.document, origin.ordinal)
