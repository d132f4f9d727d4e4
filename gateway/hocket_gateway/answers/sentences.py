"""The sentences of an answer, whole or as it is written."""

from __future__ import annotations

import re

SHORT = 2  # letters of a word before a full stop that may be an abbreviation, as in `Dr. Varga` or `e.g. this`
_END = re.compile(r"[.!?]+[\"'”’)\]]*(?=\s|$)|\n|$")


def sentences(text: str, *, is_whole: bool = True) -> list[tuple[int, int]]:
    """Return the begin and end of each sentence, without surrounding blanks; the end of a line ends one.

    Of a text that is not whole these are the sentences that end before a blank.
    """
    spans, begin = list[tuple[int, int]](), 0
    for end in _END.finditer(text):
        at = end.end()
        if at == len(text) and not is_whole and end[0] != "\n":
            break
        piece = text[begin:at]
        if at == len(text) or text[at] == "\n" or end[0] == "\n" or not _may_go_on(piece):
            spans.append((at - len(piece.lstrip()), begin + len(piece.rstrip())))
            begin = at
    return [(start, end) for start, end in spans if start < end]


def has_end(sentence: str) -> bool:
    """Tell whether it ends as sentences do, and not as a heading or a line of a list."""
    return re.search(r"[.!?][\"'”’)\]]*$", sentence) is not None


def first_letter(text: str) -> int:
    """Return the index of the first non-blank character in a token's text: it decides the token's sentence."""
    return len(text) - len(text.lstrip())


def _may_go_on(piece: str) -> bool:
    """Tell whether the full stop may be that of an abbreviation, or of a number."""
    word = piece.rsplit(maxsplit=1)[-1]
    return word.endswith(".") and sum(map(str.isalpha, word)) <= SHORT
