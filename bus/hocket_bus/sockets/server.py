"""The binding end: a ROUTER for requests and, beside it, an XPUB for streams."""

from __future__ import annotations

import time
from typing import IO, TYPE_CHECKING

import structlog
import zmq

from hocket_bus.endpoints import claim, is_tcp, publish_endpoint, share
from hocket_bus.errors import BadConfiguration, BadMessage
from hocket_bus.estimate import LastValues
from hocket_bus.keys import SELF
from hocket_bus.log import RateLimitedLog
from hocket_bus.malformed import MOST, REFUSED_S, MalformedLimit
from hocket_bus.messages import Error, Hello, Message, Ping, Pong, Subscribed
from hocket_bus.topics import Topics
from hocket_bus.wire import decode, encode

from .events import Greeter, Received

if TYPE_CHECKING:
    from .io import Bus

log = structlog.get_logger(__name__)

REFUSAL = Error(
    code="untrusted",
    text=f"{MOST} messages of this key within a minute were none; it is refused for {REFUSED_S:.0f} s",
    remedy="install the same hocket on both ends; see what else uses this key",
)
REVOKED = Error(
    code="untrusted",
    text="this machine's key is no longer allowed there",
    remedy="see it with: hocket keys show; allow it there with: hocket keys allow",
)


class Server:
    """The binding end. Answers Hello and Ping itself; every other message becomes an event."""

    _due_s = float("inf")

    def __init__(self, bus: Bus, endpoint: str, greet: Greeter) -> None:
        self.endpoint = endpoint
        self.load = 0  # requests in work
        self.waiting = 0  # steps and prompts that wait for the model
        self.bad_messages = RateLimitedLog(log, "bad message")
        self._bus = bus
        self._greet = greet
        self._lock: IO[str] | None = None
        self._told_rtt_s = LastValues()
        self._heard_s = LastValues()
        self._topics = Topics()
        self._patience = MalformedLimit()

    def send(self, route: bytes, message: Message) -> None:
        """Send to one connected end; a message to an end that left is dropped."""
        frames = [route, *encode(message)]
        self._bus._do(lambda: self._send(self._router, frames))

    def rtt_s(self, route: bytes) -> float:
        """The round trip to a connected end, as that end told it last; 0 when it has not."""
        return self._told_rtt_s.get(route)

    def silence_s(self, route: bytes) -> float:
        """How long nothing has come from a connected end, not counting times in which nothing could be read."""
        return self._bus.awake.s - self._heard_s.get(route)

    def publish(self, topic: bytes, message: Message) -> None:
        """Publish on a topic; whoever is not subscribed misses it."""
        frames = [topic, *encode(message)]
        self._bus._do(lambda: self._publish(frames))

    def malformed(self, route: bytes, user: str, error: BadMessage) -> None:
        """Treat a message that came as one that is none: count it, and tell the sender."""
        self._bus._do(lambda: self._on_bad(route, user, error))

    def _bind(self) -> None:
        self._lock = claim(self.endpoint)
        open_socket = self._bus._open_socket
        self._router = open_socket(
            zmq.ROUTER, self.endpoint, {zmq.ROUTER_MANDATORY: 1, zmq.SNDHWM: 1000, zmq.RCVHWM: 10_000}
        )
        self._xpub = open_socket(zmq.XPUB, self.endpoint, {zmq.XPUB_MANUAL: 1, zmq.SNDHWM: 10_000})
        try:
            self._router.bind(self.endpoint)
            self._xpub.bind(publish_endpoint(self.endpoint))
        except zmq.ZMQError as error:
            self._router.close()
            self._xpub.close()
            raise BadConfiguration(f"cannot listen at {self.endpoint}: {error}", "choose a free endpoint") from error
        if not is_tcp(self.endpoint):
            share(self.endpoint)
            share(publish_endpoint(self.endpoint))
        watch = self._bus._watch_users if is_tcp(self.endpoint) else self._bus._watch
        watch(self._router, self._on_request)
        watch(self._xpub, self._on_subscription)

    def _on_request(self, frames: list[bytes], user: str = "") -> None:
        route, *rest = frames
        if not self._allowed(user) and user != SELF:
            self._send(self._router, [route, *encode(REVOKED)])
            return
        self._heard_s.note(route, self._bus.awake.s)
        if self._patience.refuses(user, time.monotonic()):
            self._send(self._router, [route, *encode(REFUSAL)])
            return
        try:
            message = decode(rest)
        except BadMessage as error:
            self._on_bad(route, user, error)
            return
        if isinstance(message, Ping):
            self._told_rtt_s.note(route, message.rtt_s)
            reply: Message = Pong(sent_s=message.sent_s, load=self.load, waiting=self.waiting)
        elif isinstance(message, Hello):
            reply = self._greet(message)
        elif user == SELF:
            return
        else:
            self._bus._on_event(Received(self, route, message, user))
            return
        self._send(self._router, [route, *encode(reply)])

    def _on_bad(self, route: bytes, user: str, error: BadMessage) -> None:
        self.bad_messages.note(endpoint=self.endpoint, user=user, error=str(error))
        if user and self._patience.note(user, time.monotonic()):
            log.warning("refused for bad messages", endpoint=self.endpoint, user=user, seconds=REFUSED_S)
        reply = Error(code="bad_message", text=error.text[:500], remedy=error.remedy)
        self._send(self._router, [route, *encode(reply)])

    def _allowed(self, user: str) -> bool:
        """Whether a key that was let in still may: it can have been revoked since."""
        return not user or (self._bus.keys is not None and user in self._bus.keys.peers)

    def _on_subscription(self, frames: list[bytes], user: str = "") -> None:
        subscribe, topic = frames[0][:1] == b"\x01", frames[0][1:]
        if len(topic) != 16:  # the empty topic would read every stream
            return
        if not subscribe:
            self._xpub.set(zmq.UNSUBSCRIBE, topic)
        elif self._may_read(topic, user):
            self._xpub.set(zmq.SUBSCRIBE, topic)
            self._send(self._xpub, [topic, *encode(Subscribed())])

    def _may_read(self, topic: bytes, user: str) -> bool:
        """A topic is its first subscriber's for as long as that one is allowed; on ipc it is whose who know it."""
        if not user:
            return True
        owner = self._topics.of(topic)
        if not self._allowed(user) or (owner not in (None, user) and self._allowed(owner or "")):
            return False
        self._topics.give(topic, user)
        return True

    def _publish(self, frames: list[bytes]) -> None:
        if self._allowed(self._topics.of(frames[0]) or ""):
            self._send(self._xpub, frames)

    def _send(self, socket: zmq.Socket[bytes], frames: list[bytes]) -> None:
        try:
            socket.send_multipart(frames, zmq.NOBLOCK)
        except zmq.ZMQError as error:
            log.debug("not sent", endpoint=self.endpoint, error=str(error))

    def _tick(self, now: float) -> None:
        """A server has no timers."""

    def _woke(self) -> None:
        """Whoever was connected comes again."""

    def _closed(self) -> None:
        if self._lock is not None:
            self._lock.close()
