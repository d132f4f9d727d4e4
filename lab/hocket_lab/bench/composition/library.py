"""References of every kind from what the cloud has read of a page's subject, by the daemon's own functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hocket_bus.messages import Takeaway
from hocket_daemon.composition.memory import Item, Takeaways
from hocket_daemon.composition.settings import CompositionSettings
from hocket_tools.replay import Replay, Shelf, typed

Items = tuple[Item, ...]
_WIDER = 3  # times as many passages as usual give a long memory its sentences
_MAX_SENTENCES = 24


class Library:
    """References from a shelf; the one nearest to a text comes last, before what is typed."""

    def __init__(self, shelf: Shelf, encode: Callable[[str], list[int]]) -> None:
        self._shelf = shelf
        self._encode = encode
        self._settings = CompositionSettings()

    def remembered(self, text: str) -> Items:
        """Return what the daemon remembers after `text` was typed word by word."""
        return self.typed(text, self._settings).items

    def typed(self, text: str, settings: CompositionSettings) -> Replay:
        """Replay typing `text` with other settings; return what is remembered and what was asked for it."""

        def takeaways(query: str) -> list[Takeaway]:
            return self._shelf.takeaways(query, settings.passages, settings.takeaways)

        return typed(text, settings, self._encode, takeaways)

    def sentences(self, text: str, tokens: int) -> Items:
        """Return the nearest sentences that have at most `tokens` tokens."""
        memory = self._memory(tokens)
        memory.add("cloud", self._shelf.takeaways(text, _WIDER * self._settings.passages, _MAX_SENTENCES), 0.0)
        return memory.items

    def passages(self, text: str) -> Items:
        """Return the best passages, whole, the best one last."""
        found = self._shelf.passages(text, self._settings.passages)
        return tuple(self._item(each.text, each.document) for each in reversed(found))

    def cut(self, items: Sequence[Item], tokens: int) -> Items:
        """Return the last items, as many of their words as have at most `tokens` tokens."""
        kept: list[Item] = []
        for item in reversed(items):
            words = item.takeaway.text.split()
            while words and self._count(" ".join(words)) > tokens:
                words.pop()
            if words:
                kept.append(self._item(" ".join(words), item.takeaway.document))
                tokens -= kept[-1].tokens
        return tuple(reversed(kept))

    def _item(self, text: str, document: str) -> Item:
        line = " ".join(text.split())
        return Item("cloud", Takeaway(text=line, document=document), self._count(line))

    def _memory(self, tokens: int) -> Takeaways:
        return Takeaways(tokens, self._count)

    def _count(self, text: str) -> int:
        return len(self._encode(text))
