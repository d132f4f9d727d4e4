"""Spellings that mean one entity: equal but for case, marks and inflection, or names with one word misspelt.

A misspelt word has at least MIN_FUZZY letters and differs in one, of LONG letters in two; all other words are equal.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from rapidfuzz.distance import Levenshtein

from ..text.phrases import is_name

NAME = "^"
MIN_FUZZY = 7
LONG = 12
_MARKS = re.compile(r"[^\w\s]+")


def key_of(spelling: str) -> str:
    """Return the key that spellings of one entity share: lower case, no marks, the last word in the singular.

    A name and a term share none.
    """
    words = _MARKS.sub("", spelling.lower().replace("-", " ")).split()
    own = NAME if is_name(spelling) else ""
    return own + " ".join([*words[:-1], _singular(words[-1])]) if words else own


class Keys:
    """Keys and the entities that they stand for."""

    def __init__(self) -> None:
        self._entities: dict[str, int] = {}
        self._spellings: Counter[str] = Counter()  # of each key
        self._like: defaultdict[str, set[str]] = defaultdict(set)  # by pattern: keys that one word tells apart

    def add(self, key: str, entity: int) -> None:
        """Add a spelling with this key, which stands for this entity."""
        self._entities[key] = entity
        self._spellings[key] += 1
        for pattern, _ in _patterns(key):
            self._like[pattern].add(key)

    def discard(self, key: str) -> None:
        """Remove a spelling with this key."""
        self._spellings[key] -= 1
        if not self._spellings[key]:
            del self._entities[key], self._spellings[key]
            for pattern, _ in _patterns(key):
                self._like[pattern].discard(key)

    def find(self, key: str) -> int | None:
        """Return the entity of this key, or of the nearest key that is the same name misspelt."""
        if (found := self._entities.get(key)) is not None or not key.startswith(NAME):
            return found
        near = [(away, other) for other in self._candidates(key) if (away := _distance(key, other)) is not None]
        return self._entities[min(near)[1]] if near else None

    def _candidates(self, key: str) -> set[str]:
        found: set[str] = set()
        for pattern, _ in _patterns(key):
            found |= self._like.get(pattern, set())
        return found


def _patterns(key: str) -> Iterator[tuple[str, str]]:
    """Yield (the key of a name with one long word cut to its first letters, that word) for each long word."""
    words = key.removeprefix(NAME).split() if key.startswith(NAME) else ()
    for place, word in enumerate(words):
        if len(word) >= MIN_FUZZY and word.isalpha():
            head = word[:2] if len(words) > 1 else word[:4]
            yield " ".join([*words[:place], head + "*", *words[place + 1 :]]), word


def _distance(key: str, other: str) -> int | None:
    """Return by how many letters two keys with a common pattern differ; None where that is too many."""
    theirs = dict(_patterns(other))
    found: list[int] = []
    for pattern, word in _patterns(key):
        if pattern in theirs:
            limit = 2 if min(len(word), len(theirs[pattern])) >= LONG else 1
            away = Levenshtein.distance(word, theirs[pattern], score_cutoff=limit)
            found += [away] if away <= limit else []
    return min(found, default=None)


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word
