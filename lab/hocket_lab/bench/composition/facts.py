"""Made-up facts that nobody can know without their documents: a seed makes them, and each has two wordings.

Invariants: no value and no subject occurs twice, and no value occurs in another fact's document. The typed beginnings
of a fact share its subject, and no other word of five letters.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from .kinds import KINDS, MAKERS, Kind

_BEFORE = (
    "This note was copied from an older card.",
    "Several people asked about this last week.",
    "The following was agreed at the spring meeting.",
    "Please keep this page in the blue folder.",
)
_BEHIND = (
    "Nobody has complained about it so far.",
    "The details may be looked up in the minutes.",
    "This was read out and approved without a vote.",
    "A second copy lies at the front desk.",
)


@dataclass(frozen=True)
class Fact:
    """A fact: `subject` and `value` of a kind; the document called `name` states it in the kind's own words."""

    name: str
    subject: str
    kind: Kind
    value: str
    document: str

    def beginning(self, *, own: bool) -> str:
        """Return the sentence up to where the value begins, in the document's words or in others."""
        return f"{self.subject} {self.kind.own if own else self.kind.other} "


def make_facts(count: int, seed: int) -> list[Fact]:
    """Return `count` facts, of all kinds in turn."""
    rng = random.Random(seed)
    used: set[str] = set()
    return [_fact(number, KINDS[number % len(KINDS)], rng, used) for number in range(count)]


def is_right(suggestion: str, value: str) -> bool:
    """Tell whether a suggestion begins with the value as whole words, letter by letter, ignoring blanks before it."""
    text = suggestion.lstrip()
    return text.startswith(value) and not text[len(value) :][:1].isalnum()


def _fact(number: int, kind: Kind, rng: random.Random, used: set[str]) -> Fact:
    subject, value = (_new(name, rng, used) for name in (kind.subject, kind.value))
    stated = " ".join(part for part in (subject, kind.own, value, kind.after) if part) + "."
    text = " ".join((rng.choice(_BEFORE), stated, rng.choice(_BEHIND)))
    return Fact(f"note-{number:04}.txt", subject, kind, value, text)


def _new(name: str, rng: random.Random, used: set[str]) -> str:
    """Return a new name that is not part of any that was used before and has none as its part; add it to `used`."""
    while True:
        made = MAKERS[name](rng)
        if not any(made in each or each in made for each in used):
            used.add(made)
            return made
