"""Which handler takes a message: a table by type, filled once at the start."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hocket_bus.messages import Message
from hocket_bus.sockets import Received

Handler = Callable[[Received], None]


class Routes:
    """What is in it has a handler; a port that is given it refuses everything else unread."""

    def __init__(self) -> None:
        self._handlers: dict[type[Message], list[Handler]] = {}

    def __contains__(self, kind: object) -> bool:
        return kind in self._handlers

    def add(self, kinds: Iterable[type[Message]], handler: Handler) -> None:
        """Hand messages of these kinds to `handler`, behind those that were added before."""
        for kind in kinds:
            handlers = self._handlers.setdefault(kind, [])
            if handler not in handlers:  # two modes may share a message: its session tells whose it is
                handlers.append(handler)

    def dispatch(self, event: Received) -> None:
        """Hand a message on."""
        for handler in self._handlers.get(type(event.message), ()):
            handler(event)
