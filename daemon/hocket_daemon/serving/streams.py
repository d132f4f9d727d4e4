"""The published streams of a daemon: opened, found by their owner, read on, and let go of."""

from __future__ import annotations

import time
from collections.abc import Iterator

from hocket_bus.errors import BadRequest
from hocket_bus.messages import Ask, Credit, Error, Lost, Message, Resume
from hocket_bus.sockets import Received, Server

from .ended import Ended
from .stream import Stream


class Streams:
    """Every stream of a daemon, in work or ended a short while ago."""

    def __init__(self, server: Server, log_bytes: int) -> None:
        """`log_bytes` is what a stream may keep at most."""
        self._server = server
        self._log_bytes = log_bytes
        self._in_work: dict[bytes, Stream] = {}
        self._ended = Ended(log_bytes)

    def check_new(self, request: bytes) -> None:
        """Raises BadRequest for the number of a request that there is, or was a short while ago."""
        if self._get(request) is not None:
            raise BadRequest("that request is another client's", "choose its number at random")

    def open(self, ask: Ask, route: bytes, user: str) -> Stream:
        """A stream for `ask`, which is new."""
        stream = Stream(ask, route, user, self._server.publish, self._log_bytes, ended=self._on_end)
        self._in_work[ask.request] = stream
        return stream

    def of(self, request: bytes) -> Stream:
        """The stream of a request in work."""
        return self._in_work[request]

    def find(self, request: bytes, event: Received) -> Stream | None:
        """The stream of `request`, if it belongs to the sender of `event`, who is reached where that came from."""
        stream = self._get(request)
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

    def in_work(self) -> Iterator[Stream]:
        """Those that have not ended."""
        return iter(self._in_work.values())

    def unread(self, silence_s: float) -> set[bytes]:
        """The requests in work whose client has said nothing at all for `silence_s`."""
        return {stream.request for stream in self.in_work() if self._server.silence_s(stream.route) > silence_s}

    def forget(self) -> None:
        """Let go of those that ended long enough ago, the oldest also sooner when they keep too much together."""
        self._ended.forget(time.monotonic())

    def _get(self, request: bytes) -> Stream | None:
        return self._in_work.get(request) or self._ended.get(request)

    def _on_end(self, stream: Stream) -> None:
        self._ended.put(self._in_work.pop(stream.request))
