"""One published stream: numbered events, sent as far as the reader has credit, kept so that it can resume."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

import msgspec

from hocket_bus.messages import Ask, Done, Failed, Message, Notice, Source, Token

Publish = Callable[[bytes, Message], None]


class Stream:
    """The events of one request, from sequence number 0 to Done or Failed.

    A reader without credit stalls nobody: what it may not get yet waits in the log. When that is full, the oldest
    events go.
    """

    def __init__(
        self,
        ask: Ask,
        route: bytes,
        user: str,
        publish: Publish,
        log_bytes: int,
        *,
        ended: Callable[[Stream], None] = lambda _: None,
    ) -> None:
        """`route` is where the client spoke from last; `user` is whose request it is: nobody else may touch it.

        `ended` is told the stream behind its last event.
        """
        self.request = ask.request
        self.topic = ask.topic
        self.route = route
        self.user = user
        self.started_s = time.monotonic()
        self.ended_s: float | None = None
        self.seq = 0  # of the next event
        self.first = 0  # of the oldest event that is kept
        self._publish = publish
        self._tell_ended = ended
        self._window = self._granted = ask.window
        self._published = 0
        self._log: deque[Message] = deque()
        self._log_bytes = self._free_bytes = log_bytes

    @property
    def kept_bytes(self) -> int:
        """What the events that are kept weigh."""
        return self._log_bytes - self._free_bytes

    @property
    def age_s(self) -> float:
        """Seconds since the request arrived."""
        return time.monotonic() - self.started_s

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
        self._tell_ended(self)

    def grant(self, seq: int) -> bool:
        """The reader has read everything below `seq`: go on. False when what would come next is no longer kept."""
        self._granted = max(self._granted, min(seq, self.seq) + self._window)
        return self._flush()

    def resume(self, seq: int) -> bool:
        """Publish again from `seq` on. False when that is no longer kept."""
        self._published = min(seq, self.seq)
        return self.grant(seq)

    def _emit(self, event: Message) -> None:
        self._log.append(event)
        self.seq += 1
        self._free_bytes -= _size(event)
        while self._free_bytes < 0 and len(self._log) > 1:
            self._free_bytes += _size(self._log.popleft())
            self.first += 1
        self._flush()

    def _flush(self) -> bool:
        if self._published < self.first:
            return False
        for seq in range(self._published, min(self._granted, self.seq)):
            self._publish(self.topic, self._log[seq - self.first])
            self._published = seq + 1
        return True


def _size(event: Message) -> int:
    return len(msgspec.msgpack.encode(event))
