"""Umlauts as a keyboard without them writes: "Kuendigung" is "Kündigung", in questions and in texts. Knows no index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .languages import stem
from .normalization import fold

_SPELT = {"ae": "a", "oe": "o", "ue": "u"}  # a folded umlaut has no dots


def plain(word: str) -> str:
    """Return a folded word as it is with umlauts; of "neue" comes what is no word, and equal to its like alone."""
    for spelt, vowel in _SPELT.items():
        word = word.replace(spelt, vowel)
    return word


def spellings(folded: Iterable[str], language: str) -> Iterator[str]:
    """Yield folded words, and German ones also as if they had been written without umlauts."""
    for word in folded:
        yield word
        if language == "german" and plain(word) != word:
            yield plain(word)


def stems(case_folded: Iterable[str], language: str) -> Iterator[str]:
    """Yield the stems of German words that may have been written without umlauts, as if they had them."""
    if language != "german":
        return
    for word in case_folded:
        found = fold(stem(word, language))
        if plain(found) != found:
            yield plain(found)
