"""Sentences made up to be looked for: nobody else says them, so whoever holds one has read the document."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

WORDS_OF_A_GRAM = 5
PER_DOCUMENT = 5
_ONSETS = "b br d dr f g gl h j k kl l m n p r s sk st t tr v z".split()  # noqa: SIM905
_RHYMES = "a e i o u al an ar el en er il in ir ol on or ul un".split()  # noqa: SIM905
_THINGS = "lantern compass ledger violin kettle telescope saddle blanket mirror anvil barometer satchel".split()  # noqa: SIM905
_PLACES = "mill chapel harbour quarry orchard tower bakery bridge stable library".split()  # noqa: SIM905
_LOOKS = "amber brittle crooked dusty emerald faded gilded hollow ivory jagged narrow painted".split()  # noqa: SIM905
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()  # noqa: SIM905
_FORMS = (
    (
        "{name} keeps the {look} {thing} behind the {other_look} {place} in {town} since {year}.",
        "Where does {name} keep the {thing}?",
    ),
    (
        "The {look} {thing} of {name} was bought in {town} for {number} crowns by {friend}.",
        "How much was paid for the {thing} of {name}?",
    ),
    (
        "{name} meets {friend} every {day} at half past {hour} near the {look} {place} of {town}.",
        "When does {name} meet {friend}?",
    ),
    (
        "The code for the {thing} that {name} left at the {look} {place} in {town} is {number}.",
        "Which code has the {thing} left by {name}?",
    ),
)


@dataclass(frozen=True)
class Canary:
    """A sentence and a question about it that shares no five words in a row with it."""

    text: str
    question: str


def canaries(number: int, seed: int) -> list[Canary]:
    """Return `number` different sentences; the same for the same seed."""
    rng = random.Random(seed)
    return [_canary(rng, _FORMS[at % len(_FORMS)]) for at in range(number)]


def documents(sentences: list[Canary]) -> dict[str, str]:
    """Return the sentences as documents by file name, several in each; other sentences give other names."""
    parts = [sentences[at : at + PER_DOCUMENT] for at in range(0, len(sentences), PER_DOCUMENT)]
    return {f"{_name(part)}-{at:03}.txt": "\n".join(one.text for one in part) for at, part in enumerate(parts)}


def grams(text: str) -> set[tuple[str, ...]]:
    """Return every five words in a row, ignoring case and punctuation."""
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[at : at + WORDS_OF_A_GRAM]) for at in range(len(words) - WORDS_OF_A_GRAM + 1)}


def _canary(rng: random.Random, form: tuple[str, str]) -> Canary:
    look, other_look = rng.sample(_LOOKS, 2)
    filled = {
        "name": f"{_word(rng, 2)} {_word(rng, 3)}",
        "friend": f"{_word(rng, 2)} {_word(rng, 3)}",
        "look": look,
        "other_look": other_look,
        "thing": rng.choice(_THINGS),
        "place": rng.choice(_PLACES),
        "town": _word(rng, 3),
        "day": rng.choice(_DAYS),
        "hour": rng.choice(("one", "two", "three", "four", "five", "six", "seven")),
        "year": rng.randint(1950, 2020),
        "number": rng.randint(1000, 9999),
    }
    return Canary(*(part.format_map(filled) for part in form))


def _name(sentences: list[Canary]) -> str:
    return _word(random.Random(sentences[0].text), 5).lower()


def _word(rng: random.Random, syllables: int) -> str:
    """Return a name that nobody has."""
    return "".join(rng.choice(_ONSETS) + rng.choice(_RHYMES) for _ in range(syllables)).capitalize()
