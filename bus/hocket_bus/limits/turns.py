"""A fair queue: all who wait take turns, however much one has asked for. Pure; for one thread, or behind a lock."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Container, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Turns(Generic[K, V]):
    """A queue for each key: within one the oldest item is first, between queues the one that was served longest ago."""

    def __init__(self) -> None:
        self._lines: OrderedDict[K, deque[V]] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def put(self, key: K, item: V) -> None:
        """Append an item to the queue of `key`; a new queue comes after the others."""
        self._lines.setdefault(key, deque()).append(item)

    def take(self, busy: Container[K] = ()) -> V | None:
        """Take the next item of the queues that are not `busy`, or None; its queue then comes after the others."""
        key = next((key for key in self._lines if key not in busy), None)
        if key is None:
            return None
        line = self._lines.pop(key)
        item = line.popleft()
        if line:
            self._lines[key] = line
        return item

    def drop(self, key: K, unwanted: Callable[[V], bool]) -> list[V]:
        """Remove the unwanted items from the queue of `key` and return them; the queue keeps its turn."""
        line = self._lines.get(key, deque())
        dropped = [item for item in line if unwanted(item)]
        kept = deque(item for item in line if not unwanted(item))
        if kept:
            self._lines[key] = kept
        else:
            self._lines.pop(key, None)
        return dropped

    def length(self, key: K) -> int:
        """Return how many items wait in the queue of `key`."""
        return len(self._lines.get(key, ()))

    def cut_longest(self) -> V:
        """Remove and return the newest item of the longest queue. Raises IndexError if nothing waits."""
        if not self._lines:
            raise IndexError("nobody waits")
        key = max(self._lines, key=lambda key: len(self._lines[key]))
        item = self._lines[key].pop()
        if not self._lines[key]:
            del self._lines[key]
        return item
