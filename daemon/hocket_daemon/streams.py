"""The published stream of one request: numbered events, kept for a while so that a reader can resume."""

from __future__ import annotations

import time
from collections.abc import Callable

from hocket_bus.messages import Done, Failed, Message, Notice, Source, Token

KEEP_S = 60.0

Publish = Callable[[bytes, Message], None]


class Stream:
    """The events of one request, from sequence number 0 to Done or Failed."""

    def __init__(self, request: bytes, topic: bytes, user: str, publish: Publish) -> None:
        """`user` is whose request it is: nobody else may resume or cancel it."""
        self.request = request
        self.topic = topic
        self.user = user
        self.started_s = time.monotonic()
        self.ended_s: float | None = None
        self._publish = publish
        self._events: list[Message] = []

    @property
    def age_s(self) -> float:
        """Seconds since the request arrived."""
        return time.monotonic() - self.started_s

    @property
    def forgettable(self) -> bool:
        """Whether it ended long enough ago."""
        return self.ended_s is not None and time.monotonic() - self.ended_s > KEEP_S

    def token(self, *, step: int, token: int, text: str, source: Source) -> float:
        """Publish a token; returns its time in seconds since the request."""
        t_s = self.age_s
        self._emit(Token(request=self.request, seq=self.seq, step=step, id=token, text=text, source=source, t_s=t_s))
        return t_s

    def notice(self, text: str) -> None:
        """Publish something that the reader should know."""
        self._emit(Notice(request=self.request, seq=self.seq, text=text))

    def end(self, event: Done | Failed) -> None:
        """Publish the last event."""
        self.ended_s = time.monotonic()
        self._emit(event)

    @property
    def seq(self) -> int:
        """The sequence number of the next event."""
        return len(self._events)

    def replay(self, seq: int) -> None:
        """Publish again from `seq` on."""
        for event in self._events[seq:]:
            self._publish(self.topic, event)

    def _emit(self, event: Message) -> None:
        self._events.append(event)
        self._publish(self.topic, event)
