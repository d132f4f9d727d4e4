"""Memory of documents while a text is typed word by word: the daemons' functions, without a link.

Nothing waits here: memory is there as soon as it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Collection as Names
from typing import NamedTuple

from hocket_bus.messages import Takeaway
from hocket_daemon.composition.coordinator import Coordinator
from hocket_daemon.composition.memory import Item, Takeaways
from hocket_daemon.composition.redaction import Redaction
from hocket_daemon.composition.remembering import finished
from hocket_daemon.composition.settings import CompositionSettings
from hocket_retrieval.collection import Collection
from hocket_retrieval.embedding.embedder import Embedder
from hocket_retrieval.searching.search import Passage
from hocket_retrieval.searching.sentences import extract

_OF_HIDDEN = 8  # passages that a hidden document has at most


class Shelf:
    """The documents that the cloud has read, except hidden ones: nobody remembers the text that is being typed."""

    def __init__(self, collection: Collection, embedder: Embedder, hidden: Names[str] = ()) -> None:
        self._collection = collection
        self._embedder = embedder
        self._hidden = hidden

    def without(self, hidden: Names[str]) -> Shelf:
        """Return the same documents with others hidden."""
        return Shelf(self._collection, self._embedder, hidden)

    def passages(self, query: str, k: int) -> list[Passage]:
        """Return the best `k` passages."""
        found = self._collection.search(query, k + _OF_HIDDEN * len(self._hidden)).passages
        return [each for each in found if each.document not in self._hidden][:k]

    def takeaways(self, query: str, k: int, count: int) -> list[Takeaway]:
        """Return at most `count` sentences of the best `k` passages, the nearest first."""
        found = extract(self._embedder, query, self.passages(query, k), count)
        return [Takeaway(text=each.text, document=each.document) for each in found]


class Replay(NamedTuple):
    """The memory after the last word, and the queries that were sent, in their order."""

    items: tuple[Item, ...]
    queries: tuple[str, ...]


def typed(
    text: str,
    settings: CompositionSettings,
    encode: Callable[[str], list[int]],
    extract: Callable[[str], Sequence[Takeaway]],
    opened: int = 0,
) -> Replay:
    """Replay the typing of `text`.

    `extract` returns the takeaways of a query, the best first; `opened` characters are there from the beginning.
    """
    coordinator = Coordinator(settings.distance)
    memory, queries = Takeaways(settings.memory_tokens, lambda line: len(encode(line))), list[str]()
    redact = Redaction(settings.redact)
    for blank in re.compile(r" |\Z").finditer(text, opened):
        before = text[: blank.end()]
        query = coordinator.ask(encode(before), redact(finished(before)))
        if query:
            queries.append(query)
            coordinator.replied(len(memory.add("cloud", extract(query), 0.0)))
    return Replay(memory.items, tuple(queries))
