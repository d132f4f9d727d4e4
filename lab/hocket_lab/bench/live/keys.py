"""Simulated typing of a text: key by key at a person's pace, with typos taken back, jumps and pastes. Pure; seeded."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import NamedTuple

PACE_S, SPREAD = 0.15, 0.5  # median of the times between two keys, and σ of their logarithms
MIN_S, MAX_S = 0.03, 2.0
TYPOS, JUMPS, PASTES = 0.02, 0.003, 0.002  # of all keys
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Key(NamedTuple):
    """A key: its wait after the last one, the text then, the cursor in it, and what is still to be typed there."""

    wait_s: float
    text: str
    cursor: int
    rest: str


def keys(text: str, seed: int) -> Iterator[Key]:
    """Yield the keys that type the whole of `text`; jumps and typos are undone before it goes on."""
    chance = random.Random(seed)
    at = 0
    while at < len(text):
        event = chance.random()
        if event < TYPOS:
            yield _key(chance, text[:at] + chance.choice(LETTERS), at + 1, "")
            yield _key(chance, text[:at], at, text[at:])
        elif event < TYPOS + JUMPS and at > 100:
            yield from _jump(chance, text, at)
        elif event < TYPOS + JUMPS + PASTES:
            end = text.find(". ", at)
            at = len(text) if end < 0 else end + 2
            yield _key(chance, text[:at], at, text[at:])
        else:
            at += 1
            yield _key(chance, text[:at], at, text[at:])


def _jump(chance: random.Random, text: str, at: int) -> Iterator[Key]:
    """Yield the keys of a jump to an earlier word, where a word is put in and taken out again, and back."""
    place = text.rfind(" ", 0, chance.randrange(50, at)) + 1
    yield _key(chance, text[:at], place, "")
    for count in (1, 2, 3, 2, 1, 0):
        yield _key(chance, text[:place] + "of "[:count] + text[place:at], place + count, "")
    yield _key(chance, text[:at], at, text[at:])


def _key(chance: random.Random, text: str, cursor: int, rest: str) -> Key:
    wait_s = PACE_S * math.exp(SPREAD * chance.gauss(0, 1))
    return Key(min(max(wait_s, MIN_S), MAX_S), text, cursor, rest)
