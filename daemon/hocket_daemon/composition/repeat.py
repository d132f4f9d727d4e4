"""Removal of what follows the cursor already from a suggestion, so that whoever takes it has nothing twice."""

from __future__ import annotations

import re

from hocket_retrieval.text.lexical import is_spaced

_TOKEN = re.compile(r"\w+|[^\w\s]")
_REPEATED = 2  # words or signs that are alike, from which on a text is taken for another one's repetition


def without_repeat(suggestion: str, behind: str) -> str:
    """Return a suggestion up to where it repeats the beginning of the text `behind` the cursor.

    It is empty if it begins with that, and right before a word, with which it would merge.
    """
    following = behind.lstrip()
    if not following:
        return suggestion
    if _is_of_word(behind[0]) or _tokens(suggestion, 1) == _tokens(following, 1):
        return ""
    borders = (at for at in range(len(suggestion)) if _is_border(suggestion, at))
    end = next((at for at in borders if _repeats(suggestion[at:].strip(), following)), None)
    return suggestion.rstrip(" ") if end is None else without_repeat(suggestion[:end].rstrip(" "), behind)


def _repeats(part: str, following: str) -> bool:
    """Tell whether a part begins with the line that follows, is a beginning of it, or has the same first words."""
    line = following.partition("\n")[0].rstrip()
    similar = _tokens(part, _REPEATED) == _tokens(following, _REPEATED) and len(_tokens(part, _REPEATED)) == _REPEATED
    return part != "" and (following.startswith(part) or part.startswith(line) or similar)


def _tokens(text: str, count: int) -> list[str]:
    found = (token[0].casefold() for token in _TOKEN.finditer(text))
    return [token for token, _ in zip(found, range(count), strict=False)]


def _is_border(text: str, at: int) -> bool:
    """Tell whether no word continues across this place."""
    return not (at and _is_of_word(text[at - 1]) and _is_of_word(text[at]))


def _is_of_word(letter: str) -> bool:
    return letter.isalnum() and is_spaced(letter)
