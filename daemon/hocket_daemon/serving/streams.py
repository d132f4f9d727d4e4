"""The published streams: numbered events, sent as far as the reader has credit, kept so that it can resume."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

import msgspec

from hocket_bus.errors import BadRequest
from hocket_bus.messages import Ask, Credit, Done, Error, Failed, Lost, Message, Notice, Resume, Source, Token
from hocket_bus.sockets import Received, Server

KEEP_S = 60.0
ENDED_LOGS = 16  # full logs that all ended streams may keep together

Publish = Callable[[bytes, Message], None]


class Stream:
    """The events of one request, from sequence number 0 to Done or Failed.

    A reader without credit stalls nobody: what it may not get yet waits in the log. When that is full, the oldest
    events go.
    """

    def __init__(self, ask: Ask, route: bytes, user: str, publish: Publish, log_bytes: int) -> None:
        """`route` is where the client spoke from last; `user` is whose request it is: nobody else may touch it."""
        self.request = ask.request
        self.topic = ask.topic
        self.route = route
        self.user = user
        self.started_s = time.monotonic()
        self.ended_s: float | None = None
        self.seq = 0  # of the next event
        self.first = 0  # of the oldest event that is kept
        self._publish = publish
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


class Streams:
    """Every stream of a daemon, in work or ended a short while ago."""

    def __init__(self, server: Server, log_bytes: int) -> None:
        """`log_bytes` is what a stream may keep at most."""
        self._server = server
        self._log_bytes = log_bytes
        self._streams: dict[bytes, Stream] = {}

    def check_new(self, request: bytes) -> None:
        """Raises BadRequest for the number of a request that there is, or was a short while ago."""
        if request in self._streams:
            raise BadRequest("that request is another client's", "choose its number at random")

    def open(self, ask: Ask, route: bytes, user: str) -> Stream:
        """A stream for `ask`, which is new."""
        stream = Stream(ask, route, user, self._server.publish, self._log_bytes)
        self._streams[ask.request] = stream
        return stream

    def of(self, request: bytes) -> Stream:
        """The stream of a request in work."""
        return self._streams[request]

    def find(self, request: bytes, event: Received) -> Stream | None:
        """The stream of `request`, if it belongs to the sender of `event`, who is reached where that came from."""
        stream = self._streams.get(request)
        if stream is None or stream.user != event.user:
            return None
        stream.route = event.route
        return stream

    def read_on(self, event: Received, message: Resume | Credit) -> None:
        """What a reader says of its place in a stream; it is told when the next event it needs is gone."""
        stream = self.find(message.request, event)
        reply: Message | None = None
        if stream is None or stream.topic != message.topic:
            text, remedy = "that stream is not kept here", "ask again"
            reply = Error(code="unavailable", text=text, remedy=remedy, request=message.request)
        elif not (stream.resume if isinstance(message, Resume) else stream.grant)(message.seq):
            reply = Lost(request=message.request, first=stream.first)
        if reply is not None:
            self._server.send(event.route, reply)

    def unread(self, silence_s: float) -> set[bytes]:
        """The requests in work whose client has said nothing at all for `silence_s`."""
        in_work = (stream for stream in self._streams.values() if stream.ended_s is None)
        return {stream.request for stream in in_work if self._server.silence_s(stream.route) > silence_s}

    def forget(self) -> None:
        """Let go of those that ended long enough ago, the oldest also sooner when they keep too much together."""
        self._streams = {request: stream for request, stream in self._streams.items() if not stream.forgettable}
        ended = [stream for stream in self._streams.values() if stream.ended_s is not None]
        surplus = sum(stream.kept_bytes for stream in ended) - ENDED_LOGS * self._log_bytes
        for stream in ended:
            if surplus <= 0:
                break
            surplus -= stream.kept_bytes
            del self._streams[stream.request]


def _size(event: Message) -> int:
    return len(msgspec.msgpack.encode(event))
