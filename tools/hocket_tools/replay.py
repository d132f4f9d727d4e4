"""What a device remembers of documents when a text is typed word by word: its own functions, without a link.

Nothing waits here: memory is there as soon as it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hocket_bus.messages import Takeaway
from hocket_daemon.composition.coordinator import Coordinator
from hocket_daemon.composition.memory import Item, Takeaways
from hocket_daemon.composition.settings import CompositionSettings


class Replay(NamedTuple):
    """What is remembered behind the last word, and what was asked for, one query after the other."""

    items: tuple[Item, ...]
    queries: tuple[str, ...]


def typed(
    text: str,
    settings: CompositionSettings,
    encode: Callable[[str], list[int]],
    extract: Callable[[str], Sequence[Takeaway]],
) -> Replay:
    """`extract` tells the takeaways of a query, the best first."""
    coordinator = Coordinator(settings.distance)
    memory, queries = Takeaways(settings.memory_tokens, lambda line: len(encode(line))), list[str]()
    for blank in re.finditer(r" |\Z", text):
        before = text[: blank.start()]
        query = coordinator.ask(encode(before), before)
        if query:
            queries.append(query)
            coordinator.replied(len(memory.add("cloud", extract(query), 0.0)))
    return Replay(memory.items, tuple(queries))
