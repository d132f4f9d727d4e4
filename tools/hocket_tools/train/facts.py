"""Made-up facts in several wordings each: a document states one, and somebody types it, perhaps in another wording.

Names are put together of halves of names that the documents have. No wording, and no name, is one of
`hocket bench composition`.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from .wordings import KINDS

OWN = 0.5  # share of facts that are typed in their document's words
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{4,9}\b")
_SENTENCE_WORDS = range(6, 26)
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_MONTHS = _words("January February March April May June July August September October November December")
_LOOKS = _words("small old grey oval broken plain tiny square green wide folded rusty long shiny black carved")
_STUFFS = _words("oak iron paper glass cotton brass silk stone plastic clay straw silver wool pine steel felt")
_THINGS = _words("box drawer jar basket case trunk bag cup tin barrel folder shelf bowl bucket envelope cabinet")
_NAMES = _words("Marlowe Ostend Valdez Kerrigan Tolland Bergen Havelock Sorrento Duncan Pelham Rostock Lindgren")
_BESIDE = ("It had rained all morning and nobody was about.", "The rest of the page is too faint to be read today.")


class Fact(NamedTuple):
    """A made-up fact that `document` states; a text with the `beginning` goes on with `rest`."""

    document: str
    beginning: str
    rest: str


class Facts:
    """A source of endless facts by a seed; names and the sentences beside them come from `sentences`, if it has any."""

    def __init__(self, rng: random.Random, sentences: Sequence[str]) -> None:
        self._rng = rng
        self._beside = [each for each in sentences if len(each.split()) in _SENTENCE_WORDS] or _BESIDE
        self._names = names(sentences) or _NAMES

    def make(self) -> Fact:
        """Return the next fact."""
        rng = self._rng
        kind = rng.choice(KINDS)
        subject, value = self._subject(kind.subject), self.values[kind.value](self)
        stated = rng.choice(kind.wordings)
        worded = stated if rng.random() < OWN else rng.choice([each for each in kind.wordings if each != stated])
        sentence = f"{subject} {stated} {value}{kind.after}."
        document = " ".join([rng.choice(self._beside), sentence, rng.choice(self._beside)])
        before = rng.choice(["", "", f"{rng.choice(self._beside)} "])
        return Fact(document, f"{before}{subject} {worded}", f" {value}{kind.after}.")

    def _subject(self, kind: str) -> str:
        if kind == "person":
            return self._person()
        return f"The {self._name()} {self._rng.choice(kind.split('|'))}"

    def _person(self) -> str:
        return f"{self._name()} {self._name()}"

    def _name(self) -> str:
        return blended(self._rng, self._names)

    def _number(self, first: int, last: int) -> str:
        return str(self._rng.randint(first, last))

    def _thing(self) -> str:
        return " ".join(self._rng.choice(words) for words in (_LOOKS, _STUFFS, _THINGS))

    def _code(self) -> str:
        letters = "".join(self._rng.choices(_LETTERS, k=self._rng.randint(1, 3)))
        return f"{letters}{self._rng.choice(['-', ' ', ''])}{self._number(10, 99_999)}"

    def _date(self) -> str:
        return f"{self._number(1, 28)} {self._rng.choice(_MONTHS)} {self._number(1900, 2040)}"

    values: Mapping[str, Callable[[Facts], str]] = {
        "person": _person,
        "place": _name,
        "brand": _name,
        "thing": _thing,
        "year": lambda facts: facts._number(1200, 2030),
        "count": lambda facts: facts._number(3, 999),
        "clock": lambda facts: f"{facts._number(0, 23)}:{facts._rng.randint(0, 59):02}",
        "date": _date,
        "code": _code,
        "word": lambda facts: f"{facts._name().lower()}{facts._number(1, 999)}",
    }


def names(sentences: Iterable[str]) -> list[str]:
    """Capitalised words that stand inside sentences more than once."""
    found = Counter(name for sentence in sentences for name in _NAME.findall(sentence))
    return sorted(name for name, count in found.items() if count > 1)


def blended(rng: random.Random, names: Sequence[str]) -> str:
    """The first half of one name and the second half of another."""
    first, second = rng.choice(names), rng.choice(names)
    return first[: len(first) // 2] + second[len(second) // 2 :]
