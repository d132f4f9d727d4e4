"""The binding end: a ROUTER for requests and, beside it, an XPUB for streams."""

from __future__ import annotations

from collections.abc import Container, Iterable

import structlog
import zmq

from hocket_bus.endpoints import is_tcp
from hocket_bus.ends import GONE_AFTER_S, Change, Ends
from hocket_bus.errors import BadConfiguration, BadMessage, HocketError, ProtocolError, Untrusted
from hocket_bus.faults import error_message, in_place_of
from hocket_bus.limits.shares import REFUSED_S
from hocket_bus.log import RateLimitedLog
from hocket_bus.messages import Hello, Message, Ping, Pong, Subscribed, Welcome
from hocket_bus.topics import Topics
from hocket_bus.trust.keys import SELF, Keys
from hocket_bus.trust.rights import Taken, may, require
from hocket_bus.wire import decode, encode, encode_checked, kind_of, request_of

from .connection_limits import Refusal
from .events import Gone, Greeted, Greeter, Received
from .listening import Listening
from .loop import Loop

TOPIC_BYTES = 16
POLL_S = 0.5  # between two looks for ends that have gone, and for sockets that were removed
# What comes faster than it is read waits at its sender: of each connection this many messages are here at most. libzmq
# keeps a subscription's every byte 50-fold; its longest frame is the handshake's.
ROUTER_OPTIONS = {zmq.ROUTER_MANDATORY: 1, zmq.SNDHWM: 1000, zmq.RCVHWM: 64}
XPUB_OPTIONS = {zmq.XPUB_MANUAL: 1, zmq.SNDHWM: 10_000, zmq.RCVHWM: 64, zmq.MAXMSGSIZE: 512}

REVOKED = Untrusted(
    "this machine's key is no longer allowed there",
    "see it with: hocket keys show; allow it there with: hocket keys allow",
)

log = structlog.get_logger(__name__)


class Server:
    """A server that answers Hello and Ping itself; every other message becomes an event.

    Greeted and Gone report which peers are there, alternating for each; the daemon's probe of itself is not reported.
    """

    def __init__(self, loop: Loop, endpoint: str, greet: Greeter, takes: Container[type[Message]]) -> None:
        self.endpoint = endpoint
        self.load = 0  # requests in work
        self.first_tokens_s: list[float] = []  # as Pong tells them
        self.waiting = 0  # steps and prompts that wait for the model
        self.draining = False
        self.bad_messages = RateLimitedLog(log, "bad message")
        self._rightless = RateLimitedLog(log, "refused for want of a right")
        self._unsendable = RateLimitedLog(log, "a message of this daemon's breaks the protocol")
        self.due_s = float("inf")  # for ends that have gone any turn is soon enough
        self._loop = loop
        self._greet = greet
        self._taken = Taken(takes)
        self._ends = Ends(GONE_AFTER_S)
        self._look_s = 0.0
        self._topics = Topics()

    def send(self, route: bytes, message: Message) -> None:
        """Send to one connected peer; a message to a peer that left is dropped.

        A message that the other end would refuse is replaced by an error.
        """
        frames = [route, *self._sendable(message)]
        self._loop.do(lambda: self._send(self._router, frames))

    def rtt_s(self, route: bytes) -> float:
        """Return the round trip to a connected peer as that peer last reported it; 0 when it has not."""
        return self._ends.rtt_s(route)

    def silence_s(self, route: bytes) -> float:
        """Return how long a connected peer has been silent, not counting times in which nothing could be read."""
        return self._loop.awake_clock.s - self._ends.received_s(route)

    def publish(self, topic: bytes, message: Message) -> None:
        """Publish on a topic, as `send` does; those who are not subscribed miss it."""
        frames = [topic, *self._sendable(message)]
        self._loop.do(lambda: self._publish(frames))

    def malformed(self, route: bytes, user: str, error: BadMessage) -> None:
        """Treat a message that was read as a malformed one: count it, and tell the sender."""
        self._loop.do(lambda: self._on_malformed(route, user, error))

    def start(self) -> None:
        """Bind. Raises BadConfiguration if that fails."""
        open_socket = self._loop.sockets.open
        self._router = open_socket(zmq.ROUTER, self.endpoint, ROUTER_OPTIONS)
        self._xpub = open_socket(zmq.XPUB, self.endpoint, XPUB_OPTIONS)
        self._listening = Listening(self.endpoint, self._router, self._xpub)
        try:
            self._listening.begin()
        except BadConfiguration:
            self._loop.sockets.drop(self._router)
            self._loop.sockets.drop(self._xpub)
            raise
        if is_tcp(self.endpoint):
            self._loop.sockets.watch_users(self._router, self._on_request, self._on_refused)
            self._loop.sockets.watch_users(self._xpub, self._on_subscription, lambda *_: None)
        else:
            self._loop.sockets.watch(self._router, self._on_request)
            self._loop.sockets.watch(self._xpub, self._on_subscription)
        if self._keys is not None and (unsaid := self._keys.unsaid()):
            log.warning(
                "peers without `may`: they may be dialled, or pair", peers=unsaid, say="hocket keys allow … --may"
            )

    def tick(self, now: float) -> None:
        """Report the peers that have gone, and keep listening."""
        if now >= self._look_s:
            self._look_s = now + POLL_S
            self._listening.look()
            self._announce(self._ends.leave(self._loop.awake_clock.s))

    def on_wake(self) -> None:
        """Do nothing: whoever was connected comes again."""

    def on_close(self) -> None:
        """Release the path to the next daemon."""
        self._listening.end()

    def _on_request(self, frames: list[bytes], user: str = "") -> None:
        route, *rest = frames
        if not self._allowed(user) and user != SELF:
            self._refuse(route, REVOKED)
            return
        self._announce(self._ends.receive(route, user, self._loop.awake_clock.s))
        try:
            message = self._read(rest, user)
        except BadMessage as error:
            self._on_malformed(route, user, error, request_of(rest))
            return
        except Untrusted as error:
            self._rightless.note(endpoint=self.endpoint, user=user, error=str(error))
            self._refuse(route, error, request_of(rest))
            return
        if isinstance(message, Ping):
            self._ends.report_rtt(route, message.rtt_s)
            self._reply(route, self._pong(message))
        elif isinstance(message, Hello):
            self._on_hello(route, message, user)
        else:
            self._loop.emit(Received(self, route, message, user))

    def _pong(self, ping: Ping) -> Pong:
        return Pong(
            sent_s=ping.sent_s,
            load=self.load,
            waiting=self.waiting,
            first_tokens_s=self.first_tokens_s,
            draining=self.draining,
        )

    def _read(self, frames: list[bytes], user: str) -> Message:
        """Check and decode a message. Raises BadMessage, Untrusted; a type that is not taken costs only its header."""
        self._taken.check(kind_of(frames), user, self._keys)
        message = decode(frames)
        if isinstance(message, Hello):
            self._taken.check_hello(message, user, self._keys)
        return message

    def _on_refused(self, route: bytes, refusal: Refusal) -> None:
        if refusal.first:
            self._refuse(route, refusal.error)

    def _on_hello(self, route: bytes, hello: Hello, user: str) -> None:
        answer = self._greet(hello)
        self._reply(route, answer)
        if isinstance(answer, Welcome) and SELF not in (user, hello.name):  # on ipc its name alone tells
            self._announce(self._ends.greet(route, hello))

    def _announce(self, changes: Iterable[Change]) -> None:
        for change in changes:
            kind = Greeted if change.here else Gone
            self._loop.emit(kind(self, change.route, change.hello, change.user))

    def _on_malformed(self, route: bytes, user: str, error: BadMessage, request: bytes = b"") -> None:
        self.bad_messages.note(endpoint=self.endpoint, user=user, error=str(error))
        if user and self._loop.sockets.limits.malformed(user):
            log.warning("refused for bad messages", endpoint=self.endpoint, user=user, seconds=REFUSED_S)
        self._refuse(route, error, request)

    def _refuse(self, route: bytes, error: HocketError, request: bytes = b"") -> None:
        self._reply(route, error_message(error, request))

    def _sendable(self, message: Message) -> list[bytes]:
        try:
            return encode_checked(message)
        except ProtocolError as error:
            self._unsendable.note(endpoint=self.endpoint, error=str(error))
            told = HocketError("the daemon made a reply that cannot be sent", "report it, with the daemon's log")
            return encode(in_place_of(message, told))

    def _reply(self, route: bytes, message: Message) -> None:
        self._send(self._router, [route, *encode(message)])

    @property
    def _keys(self) -> Keys | None:
        return self._loop.sockets.keys

    def _allowed(self, user: str) -> bool:
        """Tell whether a key that was let in is still allowed: its rights can have changed since."""
        return not user or (self._keys is not None and self._keys.lets_in(user))

    def _on_subscription(self, frames: list[bytes], user: str = "") -> None:
        subscribe, topic = frames[0][:1] == b"\x01", frames[0][1:]
        if len(topic) != TOPIC_BYTES:  # the empty topic would read every stream
            return
        if not subscribe:
            self._xpub.set(zmq.UNSUBSCRIBE, topic)
        elif self._may_read(topic, user):
            self._topics.give(topic, user)
            self._xpub.set(zmq.SUBSCRIBE, topic)
            self._send(self._xpub, [topic, *encode(Subscribed())])
        elif self._allowed(user) and self._topics.owner(topic) is None:
            self._refuse_topic(topic, user)

    def _may_read(self, topic: bytes, user: str) -> bool:
        """Tell whether a user may read a topic: with the right to ask, and if the topic is its own.

        A topic belongs to its first subscriber while that one is allowed; on ipc, to everybody who knows it.
        """
        owner = self._topics.owner(topic) or user
        return may(user, "ask", self._keys) and (owner == user or not self._allowed(owner))

    def _refuse_topic(self, topic: bytes, user: str) -> None:
        """Tell the one that has just subscribed to the topic, and nobody else, why it waits in vain."""
        try:
            require("ask", user, self._keys)
        except Untrusted as error:
            self._xpub.set(zmq.SUBSCRIBE, topic)
            self._send(self._xpub, [topic, *encode(error_message(error))])
            self._xpub.set(zmq.UNSUBSCRIBE, topic)

    def _publish(self, frames: list[bytes]) -> None:
        if may(self._topics.owner(frames[0]) or "", "ask", self._keys):
            self._send(self._xpub, frames)

    def _send(self, socket: zmq.Socket[bytes], frames: list[bytes]) -> None:
        try:
            socket.send_multipart(frames, zmq.NOBLOCK)
        except zmq.ZMQError as error:
            log.debug("not sent", endpoint=self.endpoint, error=str(error))
