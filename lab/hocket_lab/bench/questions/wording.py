"""Measures of whether a free-text answer is the one that was asked for: SQuAD's (Rajpurkar et al. 2016)."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = frozenset(("a", "an", "the"))
_MARKS = re.compile(f"[{re.escape(string.punctuation)}]")


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation and articles."""
    return [word for word in _MARKS.sub(" ", text.lower()).split() if word not in _ARTICLES]


def contains(text: str, accepted: Sequence[str]) -> bool:
    """Tell whether `text` contains one of the accepted answers, word by word."""
    whole = f" {' '.join(words(text))} "
    return any(f" {' '.join(words(answer))} " in whole for answer in accepted)


def f1(text: str, accepted: Sequence[str]) -> float:
    """Return the harmonic mean of precision and recall of words, for the accepted answer that fits best."""
    return max((_f1(Counter(words(text)), Counter(words(answer))) for answer in accepted), default=0.0)


def _f1(given: Counter[str], wanted: Counter[str]) -> float:
    shared = (given & wanted).total()
    return 2 * shared / (given.total() + wanted.total()) if shared else 0.0
