"""Keys typed into a running pair, and how long each one waited for a suggestion for the text as it then stood."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from hocket_client import Composer, Suggestion
from hocket_lab.bench.live.keys import Key

LAST_S = 2.0  # for the last key's suggestion


@dataclass
class Typed:
    """Results of a run of keys; times in ms."""

    waits_ms: list[float] = field(default_factory=list)  # of every key; up to the end of those never answered
    computed_ms: list[float] = field(default_factory=list)  # of those that no other overtook, and were computed for
    kept_ms: list[float] = field(default_factory=list)  # and of those whose suggestion was known
    passes: list[int] = field(default_factory=list)  # of every computed suggestion
    daemon_ms: list[float] = field(default_factory=list)  # that those took in the daemon
    ages_s: list[float] = field(default_factory=list)  # of the memory in use
    keys: int = 0
    suggested: int = 0  # keys that were answered by more than nothing
    answered: int = 0
    stale: int = 0
    letters: int = 0
    saved: int = 0  # letters that a suggestion had as whole words before they were typed


class Typing:
    """A text being typed."""

    def __init__(self, composer: Composer, found: Typed) -> None:
        self._composer = composer
        self._found = found
        self._waiting: list[float] = []  # when the keys came that wait for a suggestion
        self._covered = 0  # up to where the text was foretold
        self._key = Key(0.0, "", 0, "")

    def type(self, keys: Iterable[Key]) -> None:
        """Type all keys, each at its time."""
        due_s = time.monotonic()
        for key in keys:
            due_s = max(due_s + key.wait_s, time.monotonic() - key.wait_s)
            self._read_until(due_s)
            self._found.keys += 1
            self._waiting.append(time.monotonic())
            self._composer.update(key.text, key.cursor)
            self._rest(key)
        self._read_until(time.monotonic() + LAST_S)
        self._found.waits_ms += [(time.monotonic() - came_s) * 1000 for came_s in self._waiting]

    def _rest(self, key: Key) -> None:
        self._key = key
        if key.rest:
            self._found.letters += 1
            self._found.saved += len(key.text) <= self._covered

    def _read_until(self, until_s: float) -> None:
        while (left_s := until_s - time.monotonic()) > 0:
            for event in self._composer.events(left_s):
                if isinstance(event, Suggestion):
                    self._take(event)
                break

    def _take(self, event: Suggestion) -> None:
        now, found = time.monotonic(), self._found
        found.stale += event.version != self._composer.version
        if event.memory_age_s:
            found.ages_s.append(event.memory_age_s)
        if self._waiting:
            waits = [(now - came_s) * 1000 for came_s in self._waiting]
            self._waiting.clear()
            found.answered += len(waits)
            found.suggested += len(waits) * bool(event.text.strip())
            found.waits_ms += waits
            (found.computed_ms if event.passes else found.kept_ms).append(waits[-1])
        if event.passes:
            found.passes.append(event.passes)
            found.daemon_ms.append(event.ms)
        if self._key.rest:
            self._covered = max(self._covered, len(self._key.text) + foretold(event.text, self._key.rest))


def foretold(suggestion: str, rest: str) -> int:
    """Return how many letters of what is typed next a suggestion has, in whole words."""
    similar = next((at for at, (a, b) in enumerate(zip(suggestion, rest, strict=False)) if a != b), len(suggestion))
    whole = similar if rest[similar : similar + 1] in ("", " ", ".", ",") else suggestion.rfind(" ", 0, similar)
    return max(0, min(whole, len(rest)))
