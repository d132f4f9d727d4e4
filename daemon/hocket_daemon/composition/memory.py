"""The memory of documents: takeaways in the order in which they came, up to a number of tokens (M)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hocket_bus.messages import Side, Takeaway


@dataclass(frozen=True, slots=True)
class Item:
    """A takeaway, the side whose documents it is from, and how many tokens it has."""

    side: Side
    takeaway: Takeaway
    tokens: int


class Takeaways:
    """A first-in, first-out store of takeaways; no takeaway is in it twice (paper §3.2)."""

    def __init__(self, capacity: int, count: Callable[[str], int]) -> None:
        """Set the `capacity` in tokens, as `count` counts them."""
        self.items: tuple[Item, ...] = ()
        self.changed_s: float | None = None  # when something new came last
        self._capacity = capacity
        self._count = count

    def add(self, side: Side, takeaways: Sequence[Takeaway], now_s: float) -> list[Takeaway]:
        """Add takeaways and return those that are new. One that comes again counts as the latest."""
        given = {takeaway.text: takeaway for takeaway in takeaways}
        known = {item.takeaway.text: item for item in self.items}
        kept = [item for item in self.items if item.takeaway.text not in given]
        again = [known.get(text) or Item(side, takeaway, self._count(text)) for text, takeaway in given.items()]
        self.items = self._fitting([*kept, *reversed(again)])  # the best takeaway, told first, goes last
        new = [item.takeaway for item in self.items if item.takeaway.text not in known]
        if new:
            self.changed_s = now_s
        return new

    def _fitting(self, items: Iterable[Item]) -> tuple[Item, ...]:
        """Return the last items that have room; one that never would have any is left out."""
        room, kept = self._capacity, []
        for item in reversed([each for each in items if each.tokens <= self._capacity]):
            room -= item.tokens
            if room < 0:
                break
            kept.append(item)
        return tuple(reversed(kept))
