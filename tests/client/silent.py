"""A daemon that greets, notes what it is asked, and never answers."""

from __future__ import annotations

from hocket_bus.messages import Message, Welcome
from hocket_bus.sockets import Bus, Event, Received


class Silent:
    """At an endpoint."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.got: list[Message] = []
        self._bus = Bus(self._on_event)
        self._bus.serve(endpoint, lambda _: Welcome(role="device", epoch=1))

    def close(self) -> None:
        self._bus.close(0)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Received):
            self.got.append(event.message)
