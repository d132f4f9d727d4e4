"""Compounds: in some languages a word is made of others, which are looked for by one of them alone. Knows no index.

No dictionary is needed: a part is whatever begins or ends a long word. In an index "kaltmiete" has the fronts "kalt-",
"kaltm-" and the ends "-miet", "-tmiet" among others, ends by their stems; a question about a "Miete" asks for "miet-"
and "-miet". A passage about it has a word that begins with the stem, or ends with it but for an ending.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
    yield from (f"{folded[:end]}-" for end in range(_PART, len(folded) - _BEFORE + 1))
    yield from (f"-{fold(stem(word[start:], language))}" for start in range(_BEFORE, len(word) - _PART + 1))


def asked(word: str, language: str) -> Iterator[str]:
    """Yield the parts by which a case folded word of a question is looked for."""
    if language in LANGUAGES and len(word) >= _PART and word.isalpha():
        yield f"{_least(word, language)}-"
        yield f"-{fold(stem(word, language))}"


def holding(asked: str, language: str, words: Iterable[str]) -> bool:
    """Tell whether one of the folded `words` is a case folded word of a question, inflected or in a compound."""
    if language not in LANGUAGES or len(asked) < _PART:
        return False
    forms = {_least(asked, language), fold(asked)}
    return any(_holds(word, form) for word in words for form in forms)


def _holds(word: str, form: str) -> bool:
    at = word.rfind(form)
    return at == 0 or (at >= _BEFORE and len(word) - at - len(form) <= _ENDING)


def _least(word: str, language: str) -> str:
    """Return a word without its ending, folded, of at least _PART letters."""
    found = fold(stem(word, language))
    return found if len(found) >= _PART else fold(word)
