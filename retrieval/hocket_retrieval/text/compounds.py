"""Compounds: in some languages a word is made of others, which are looked for by one of them alone. Knows no index.

No dictionary is needed: a part is whatever begins or ends a long word. In an index "kaltmiete" has the fronts "kalt-",
"kaltm-" and the ends "-miet", "-tmiet" among others, ends by their stems; a question about a "Miete" asks for "miet-"
and "-miet". A passage about it has a word that begins with the stem, or ends with it but for an ending.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain

from . import umlauts
from .languages import stem
from .normalization import fold

LANGUAGES = frozenset({"danish", "dutch", "finnish", "german", "hungarian", "norwegian", "swedish"})
_PART = 4  # letters of a part that is looked for, at least
_BEFORE = 3  # letters before an end, at least: "Heu" and "ernte"
_ENDING = 3  # letters of a grammatical ending, at most
_LONGEST = 40  # letters of a word whose parts are indexed


def parts(word: str, language: str) -> Iterator[str]:
    """Yield the parts of a case folded word as they are indexed; none in other languages, or of a short word."""
    if language not in LANGUAGES or not _PART + _BEFORE <= len(word) <= _LONGEST or not word.isalpha():
        return
    folded = fold(word)
    fronts = (f"{folded[:end]}-" for end in range(_PART, len(folded) - _BEFORE + 1))
    ends = (f"-{fold(stem(word[start:], language))}" for start in range(_BEFORE, len(word) - _PART + 1))
    yield from umlauts.spellings(chain(fronts, ends), language)


def asked(word: str, language: str) -> Iterator[str]:
    """Yield the parts by which a case folded word of a question is looked for."""
    if language in LANGUAGES and len(word) >= _PART and word.isalpha():
        sought = (f"{_least(word, language)}-", f"-{fold(stem(word, language))}")
        yield from umlauts.spellings(sought, language)


def held(asked: Iterable[str], language: str, words: Iterable[str]) -> frozenset[str]:
    """Return the case folded words of a question that one of the folded `words` is, inflected or in a compound.

    In German with umlauts or without them.
    """
    if language not in LANGUAGES:
        return frozenset()
    together = "\n".join(umlauts.spellings(["\n".join(words)], language))

    def holds(form: str) -> bool:  # of most forms no word has the letters
        return form in together and any(_holds(word, form) for word in together.split("\n"))

    return frozenset(word for word in asked if len(word) >= _PART and any(map(holds, _forms(word, language))))


def _holds(word: str, form: str) -> bool:
    at = word.rfind(form)
    return at == 0 or (at >= _BEFORE and len(word) - at - len(form) <= _ENDING)


@lru_cache(maxsize=1 << 12)
def _forms(word: str, language: str) -> frozenset[str]:
    return frozenset(umlauts.spellings((_least(word, language), fold(word)), language))


def _least(word: str, language: str) -> str:
    """Return a word without its ending, folded, of at least _PART letters."""
    found = fold(stem(word, language))
    return found if len(found) >= _PART else fold(word)
