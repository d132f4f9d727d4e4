"""Which entities may be named outside: no numbers that belong to somebody, and none that too few documents hold."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .tables import Said

_YEAR = re.compile(r"(?:19|20)\d\d")


def may_leave(text: str) -> bool:
    """Whether a name or term holds no address, phone, account or plate number.

    Of numbers it may hold one: a year, or two digits, beside a word that is not all capitals.
    """
    if "@" in text or "://" in text:
        return False
    numbers = re.findall(r"\d+", text)
    if not numbers:
        return True
    has_word = any(len(word) > 2 and not word.isupper() for word in re.findall(r"[^\W\d_]+", text))
    return len(numbers) == 1 and has_word and (len(numbers[0]) <= 2 or _YEAR.fullmatch(numbers[0]) is not None)


def said_outside(said: Iterable[Said], min_documents: int) -> list[Said]:
    """Those entities that may be named outside."""
    return [each for each in said if each.documents >= min_documents and may_leave(each.text)]
