"""A queue in which all who wait take turns, however much one has asked for. Pure; for one thread, or behind a lock."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Container, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Turns(Generic[K, V]):
    """A line for each key: within a line the oldest is first, between lines the one that was served longest ago."""

    def __init__(self) -> None:
        self._lines: OrderedDict[K, deque[V]] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def put(self, key: K, item: V) -> None:
        """Behind everything of `key`'s line; a new line is behind the others."""
        self._lines.setdefault(key, deque()).append(item)

    def take(self, busy: Container[K] = ()) -> V | None:
        """The next item of the lines that are not `busy`, None where there is none; its line goes behind the others."""
        key = next((key for key in self._lines if key not in busy), None)
        if key is None:
            return None
        line = self._lines.pop(key)
        item = line.popleft()
        if line:
            self._lines[key] = line
        return item

    def drop(self, key: K, unwanted: Callable[[V], bool]) -> list[V]:
        """Take what is unwanted out of `key`'s line; the line keeps its turn."""
        line = self._lines.get(key, deque())
        dropped = [item for item in line if unwanted(item)]
        kept = deque(item for item in line if not unwanted(item))
        if kept:
            self._lines[key] = kept
        else:
            self._lines.pop(key, None)
        return dropped

    def length(self, key: K) -> int:
        """How many wait in `key`'s line."""
        return len(self._lines.get(key, ()))

    def cut_longest(self) -> V:
        """Take the newest out of the longest line. Raises IndexError where nobody waits."""
        if not self._lines:
            raise IndexError("nobody waits")
        key = max(self._lines, key=lambda key: len(self._lines[key]))
        item = self._lines[key].pop()
        if not self._lines[key]:
            del self._lines[key]
        return item
