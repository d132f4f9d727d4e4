"""Made-up facts that are nearly alike: five of each kind, which differ in a name and a value; a seed makes them.

There are two sets of kinds: rules are chosen on one and checked on the other, whose words and forms differ. Invariants:
no subject and no value occurs twice; a typed beginning has its fact's subject, and no other one's.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from hocket_bus.messages import Side

from .kinds import MAKERS

Set = Literal["chosen", "shown"]
OF_A_KIND = 5


class ConfusableKind(NamedTuple):
    """Facts of a side in one document: its `file`, the text `above` them, a `line` for each, and what is `typed`.

    `line` and `typed` contain {subject}, {value}, and {other}, a second value that is never asked for.
    """

    side: Side
    file: str
    above: str
    line: str
    typed: str
    subject: str
    value: str
    other: str = "year"


SETS: Mapping[Set, Sequence[ConfusableKind]] = {
    "chosen": (
        ConfusableKind(
            "cloud", "bridges.txt", "Tolls were set anew in spring.\n\n",
            "The toll at the {subject} Bridge is {value} crowns. ", "The toll at the {subject} Bridge is ",
            "place", "digits",
        ),
        ConfusableKind(
            "cloud", "prices.txt", "Prices of the auction house\n\n",
            "{subject}: {value} crowns\n", "A {subject} costs ", "spot", "digits",
        ),
        ConfusableKind(
            "cloud", "mills.md", "# Mills\n\n| Mill | Built | Number |\n|---|---|---|\n",
            "| {subject} | {value} | {other} |\n", "The {subject} mill was built in ", "place", "year", "code",
        ),
        ConfusableKind(
            "cloud", "telephones.md", "# Telephones\n\n",
            "- {subject}: {value}\n", "{subject} can be reached under ", "person", "telephone",
        ),
        ConfusableKind(
            "device", "lockers.txt", "For myself.\n\n",
            "My locker at the station of {subject} opens with {value}. ",
            "My locker at the station of {subject} opens with ", "place", "digits",
        ),
        ConfusableKind(
            "device", "birthdays.txt", "Birthdays\n\n",
            "{subject}, {value}\n", "{subject} was born on ", "person", "date",
        ),
    ),
    "shown": (
        ConfusableKind(
            "cloud", "tickets.txt", "The museums of the county have agreed on fees. ",
            "A ticket to the {subject} Museum costs {value} kroner. ", "A ticket to the {subject} Museum costs ",
            "brand", "digits",
        ),
        ConfusableKind(
            "cloud", "stall.csv", "item;price;since\n",
            "{subject};{value};{other}\n", "The price of the {subject} is ", "spot", "digits",
        ),
        ConfusableKind(
            "cloud", "lighthouses.md", "# Lighthouses\n\n| Lighthouse | Height | Lit |\n|---|---|---|\n",
            "| {subject} | {value} feet | {other} |\n", "The lighthouse of {subject} has a height of ",
            "place", "digits",
        ),
        ConfusableKind(
            "cloud", "office.txt", "Who sits where\n\n",
            "{subject}, extension {value}\n", "Please call {subject} at extension ", "person", "number",
        ),
        ConfusableKind(
            "device", "trains.txt", "My trains. ",
            "The last train to {subject} leaves at {value}. ", "The last train to {subject} leaves at ",
            "place", "clock",
        ),
        ConfusableKind(
            "device", "machines.md", "# In the cellar\n\n",
            "- {subject} has the serial number {value}\n", "{subject} has the serial number ", "device", "code",
        ),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class ConfusableFact:
    """A made-up fact: the text to type, the value that completes it, and the document that states it."""

    side: Side
    document: str
    subject: str
    value: str
    typed: str


def make_confusable(
    kinds: Sequence[ConfusableKind], seed: int
) -> tuple[list[ConfusableFact], dict[Side, dict[str, str]]]:
    """Return the facts, and each side's documents by name."""
    rng, used = random.Random(seed), set[str]()
    facts, documents = list[ConfusableFact](), dict[Side, dict[str, str]]({"cloud": {}, "device": {}})
    for kind in kinds:
        text = kind.above
        for _ in range(OF_A_KIND):
            subject, value, other = (_new(name, rng, used) for name in (kind.subject, kind.value, kind.other))
            text += kind.line.format(subject=subject, value=value, other=other)
            typed = kind.typed.format(subject=subject)
            facts.append(ConfusableFact(kind.side, kind.file, subject, value, typed))
        documents[kind.side][kind.file] = text.rstrip(" ")
    return facts, documents


def _new(name: str, rng: random.Random, used: set[str]) -> str:
    """Return a new name that is not part of any that was used before and has none as its part; add it to `used`."""
    while True:
        made = _made(name, rng)
        if not any(made in each or each in made for each in used):
            used.add(made)
            return made


def _made(name: str, rng: random.Random) -> str:
    if name == "telephone":
        return f"0{rng.randint(151, 179)} {rng.randint(202, 989)} {rng.randint(1002, 9898)}"
    if name == "number":
        return str(rng.randint(1002, 9898))
    return MAKERS[name](rng).removeprefix("The ")
