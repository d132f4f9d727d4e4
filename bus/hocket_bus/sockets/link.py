"""The connecting end: a DEALER and, with a topic, a SUB; it greets, pings, notices silence and reconnects."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Container
from functools import partial
from math import inf

import structlog
import zmq

from hocket_bus.egress import Gate
from hocket_bus.endpoints import is_tcp, publish_endpoint
from hocket_bus.errors import BadMessage, HocketError, OtherVersion, ProtocolError, Unavailable, Untrusted
from hocket_bus.estimate import Estimate
from hocket_bus.faults import raised
from hocket_bus.limits.shares import REFUSED_S
from hocket_bus.log import RateLimitedLog
from hocket_bus.messages import Error, Hello, Message, Ping, Pong, Subscribed, Welcome
from hocket_bus.wire import decode, encode, kind_of

from .curve import MONITORED, connected, doubtful, unencrypted, verdict
from .events import LinkDown, LinkDraining, LinkUp, Received
from .greeting import Greeting
from .inbound_limit import POLL_S, InboundLimit
from .incoming import Incoming
from .loop import Loop
from .resolver import Resolver
from .socket_set import HANDSHAKE_S

PING_S = 0.5  # two echoes make a new estimate, so a round trip that changes is known well within 3 s
LIVENESS_S = 3.0
LOCAL_LIVENESS_S = 15.0  # an end on this machine that ends hangs up at once: one that is silent is short of a processor
BACKOFF_S = (0.1, 5.0)
REFUSED_BACKOFF_S = 5.0
_ALWAYS = (Welcome, Pong, Subscribed, Error)  # taken by every connecting end
_POLL_S = 0.02  # whether a name has been resolved

log = structlog.get_logger(__name__)


class Link:
    """A connection that reconnects for ever with jittered back-off, under a new automatic identity each time."""

    user = ""  # of the other end: the one that this machine was told to trust

    def __init__(
        self,
        loop: Loop,
        endpoint: str,
        hello: Hello,
        topic: bytes,
        gate: Gate,
        *,
        takes: Container[type[Message]],
        key: str = "",
    ) -> None:
        """Set up a link; `key` is the public key that the other end must have; empty: the one known for `endpoint`."""
        self.endpoint = endpoint
        self.up = False
        self.reason: HocketError | None = None  # why it is not, where that is known
        self.round_trip = Estimate()
        self.load = self.waiting = 0  # the other end's, as its latest pong says
        self.first_tokens_s: list[float] = []  # the same
        self.draining = False  # the same
        self._loop = loop
        self._due_s = 0.0
        self._look_s = inf  # when to look at what has come
        self._inflows: list[InboundLimit] = []  # of the sockets, over tcp
        self._hello = hello
        self._topic = topic
        self._gate = gate
        self._takes = takes
        self._key = key
        self._connected = False
        self._is_cut = False
        self._resolver = Resolver(endpoint)
        self._liveness_s = LIVENESS_S if is_tcp(endpoint) else LOCAL_LIVENESS_S
        self._address = endpoint  # with the host by its address
        self._welcome: Welcome | None = None
        self._subscribed = False
        self._failures = 0
        self._encrypts = False  # so says the greeting of an end that has hung up on us
        self._opened_s = 0.0
        self._opening_timeout_s = LIVENESS_S
        self._quiet_since_s = 0.0  # on the clock of Loop.awake: an end that stands still hears no silence
        self._sockets: list[zmq.Socket[bytes]] = []
        self._subscriber: zmq.Socket[bytes] | None = None  # outlives a break, for what was published before it
        self._bad_messages = RateLimitedLog(log, "bad message")

    @property
    def due_s(self) -> float:
        """Return when `tick` is next needed."""
        return inf if self._is_cut else min(self._due_s, self._look_s)

    @property
    def rtt_s(self) -> float:
        """Return the current round trip, by the echo of pings in this very connection; 0 while the link is down."""
        return self.round_trip.now

    @property
    def silence_s(self) -> float:
        """Return 0: a silent end is disconnected, so its silence in seconds never counts."""
        return 0.0

    def send(self, message: Message) -> None:
        """Send to the other end; dropped while the link is down. Raises Forbidden if the message must not leave."""
        self._gate.check(message)
        frames = encode(message)
        self._loop.do(lambda: self._send(message, frames))

    def start(self) -> None:
        """Connect at the first turn. Raises BadConfiguration if the keys that tcp needs are missing."""
        self._server_key()

    def tick(self, now: float) -> None:
        """Connect, greet and ping when it is time; give up a silent peer."""
        if self._is_cut:
            return
        if now >= self._look_s:
            self._look(now)
        if now < self._due_s:
            return
        if not self._sockets:
            self._try_open()
            return
        if self._loop.awake_clock.s - self._quiet_since_s > (self._liveness_s if self.up else self._opening_timeout_s):
            self._fail(self._silence(), 0.0)
            return
        if not self._connected:
            self._due_s = now + PING_S
            return
        if self._welcome is None:
            self._send(self._hello, encode(self._hello))
        ping = Ping(sent_s=now, rtt_s=self.rtt_s)
        self._send(ping, encode(ping))
        self._due_s = now + (PING_S if self.up else min(0.05, 0.002 + 0.5 * (now - self._opened_s)))

    @property
    def aggregates(self) -> bool:
        """Tell whether the other end's model gives probabilities; True while it has not said."""
        return self._welcome is None or self._welcome.aggregates

    @property
    def tokenizer(self) -> str:
        """The fingerprint of the other end's tokenizer; empty while it has not said."""
        return self._welcome.tokenizer if self._welcome is not None else ""

    def _silence(self) -> Unavailable:
        """Return the error for what does not answer: the daemon, or only its streams."""
        if self.up or self._welcome is None:
            return Unavailable(f"no answer from {self.endpoint}", "is the daemon there running?")
        streams = publish_endpoint(self.endpoint, self._welcome.streams_port)
        return Unavailable(
            f"{self.endpoint} answers, but its streams at {streams} cannot be reached",
            "open that port too, or set advertise_streams there to the open one (docs/servers.md)",
        )

    def on_wake(self) -> None:
        """Reconnect after the machine's sleep: the other end has most likely let go, so do not wait for its silence."""
        if self._sockets:
            self._fail(Unavailable("this machine was asleep", "wait a moment for the connection"), 0.0)
        self._due_s = 0.0

    def on_close(self) -> None:
        """Do nothing: the link's sockets close with the bus."""

    def hang_up(self, reason: HocketError) -> None:
        """Close the sockets and report the link as down; the caller removes it."""
        self._drop_subscriber()
        self._fail(reason, 0.0)

    def cut(self, reason: HocketError) -> None:
        """Disconnect for this reason until `join`: no byte leaves meanwhile. In the loop only."""
        self._is_cut = True
        self._drop_subscriber()
        self._fail(reason, 0.0)

    def join(self) -> None:
        """Connect again. In the loop only."""
        self._is_cut, self._failures, self._due_s = False, 0, 0.0

    def _try_open(self) -> None:
        """Open the connection; a revoked key, or a lack of descriptors, leaves the link down and the loop running."""
        try:
            address = self._resolver.found(self._failures)
            if address is None:
                self._due_s = time.monotonic() + _POLL_S
            else:
                self._open(address)
        except HocketError as error:
            self._fail(error, REFUSED_BACKOFF_S)
        except zmq.ZMQError as error:
            self._fail(self._lacking(error), REFUSED_BACKOFF_S)

    def _lacking(self, error: zmq.ZMQError) -> HocketError:
        return Unavailable(
            f"no connection to {self.endpoint}: {error}", "check this machine's limits, such as open files"
        )

    def _open(self, address: str) -> None:
        now, self._address = time.monotonic(), address
        self._opening_timeout_s = min(LIVENESS_S * (1 + self._failures), HANDSHAKE_S)
        self._welcome, self._subscribed = None, not self._topic
        self._opened_s, self._due_s, self._quiet_since_s = now, now, self._loop.awake_clock.s
        self._sockets = [self._open_socket(zmq.DEALER)]
        self._drop_subscriber()
        self._inflows = []
        inbound = self._watch(self._sockets[0], self._on_frames)
        # libzmq would reconnect silently, and what was under way would be lost without anybody knowing.
        self._loop.sockets.monitor(self._sockets[0], MONITORED, partial(self._on_monitored, inbound))
        self._sockets[0].connect(address)

    def _open_socket(self, kind: zmq.SocketType) -> zmq.Socket[bytes]:
        # No IMMEDIATE: what has arrived would be lost when the other end hangs up (tests/bus/hangup.py).
        options: dict[zmq.SocketOption, int] = {zmq.RCVHWM: 1000, zmq.SNDHWM: 10_000}
        options |= {zmq.CONNECT_TIMEOUT: 3000, zmq.RECONNECT_IVL: random.randint(100, 300), zmq.RECONNECT_IVL_MAX: 5000}
        # The handshake gives up before the link does, so that the link knows what it was that did not answer.
        options[zmq.HANDSHAKE_IVL] = int(self._opening_timeout_s * 1000) - 500
        return self._loop.sockets.open(kind, self._address, options, self._server_key())

    def _subscribe(self, port: int) -> None:
        """Subscribe to the topic where the other end publishes: at the port that it says, else at the next one."""
        try:
            subscriber = self._subscriber = self._open_socket(zmq.SUB)
        except zmq.ZMQError as error:
            self._fail(self._lacking(error), REFUSED_BACKOFF_S)
            return
        subscriber.set(zmq.SUBSCRIBE, self._topic)
        inbound = self._watch(subscriber, lambda frames: self._on_frames(frames[1:]))
        self._loop.sockets.monitor(subscriber, zmq.EVENT_CONNECTED, inbound.on_event)
        subscriber.connect(publish_endpoint(self._address, port))

    def _watch(self, socket: zmq.Socket[bytes], on_frames: Callable[[list[bytes]], None]) -> InboundLimit:
        """Read a socket. Traffic over tcp is counted; over ipc, the folders' permissions say who may send."""
        inbound = InboundLimit()

        def take(message: Incoming) -> None:
            inbound.take(message)
            on_frames(message.texts())

        if is_tcp(self.endpoint):
            self._inflows.append(inbound)
            self._look_s = 0.0
            self._loop.sockets.watch_whole(socket, take)
        else:
            self._loop.sockets.watch(socket, on_frames)
        return inbound

    def _look(self, now: float) -> None:
        """Disconnect a peer that sends more than can be read."""
        self._look_s = now + POLL_S
        excess = next(filter(None, (inbound.excess() for inbound in self._inflows)), None)
        if excess is not None:
            self._drop_subscriber()
            self._fail(ProtocolError(f"{self.endpoint}: {excess.text}", excess.remedy), REFUSED_S)

    def _server_key(self) -> str | None:
        keys = self._loop.sockets.load_keys(self.endpoint)
        return None if keys is None else self._key or keys.server_key(self.endpoint)

    def _on_monitored(self, inbound: InboundLimit, frames: list[bytes]) -> None:
        if inbound.on_event(frames):
            return
        if connected(frames):
            self._connected, self._due_s = True, 0.0
            return
        self._drain()
        if not self._sockets:  # its last words were that it refuses us
            return
        if doubtful(frames) and not self._encrypts:
            self._greet_plainly()
            return
        reason = verdict(frames, self.endpoint, self._loop.sockets.keys, self._hello.role)
        self._fail(reason, REFUSED_BACKOFF_S if isinstance(reason, Untrusted) else 0.0)

    def _greet_plainly(self) -> None:
        """Find out whether the peer that hung up encrypts. If so it is tried once more, for it may have been ending."""
        self._drop_sockets()
        try:
            socket = self._loop.sockets.open_plain(self._address)
        except zmq.ZMQError as error:
            self._fail(self._lacking(error), REFUSED_BACKOFF_S)
            return
        self._sockets = [socket]
        self._loop.sockets.watch(socket, Greeting(socket, self._on_greeted).take)
        socket.connect(self._address)

    def _on_greeted(self, encrypts: bool) -> None:
        if not encrypts:
            self._fail(unencrypted(self.endpoint), REFUSED_BACKOFF_S)
            return
        self._drop_sockets()
        self._encrypts, self._due_s = True, time.monotonic() + BACKOFF_S[0]

    def _drain(self) -> None:
        """Read what the other end sent before it hung up; it has arrived by now."""
        while self._sockets and self._sockets[0].poll(0):
            self._loop.sockets.read(self._sockets[0])

    def _on_frames(self, frames: list[bytes]) -> None:
        try:
            message = self._read(frames)
        except BadMessage as error:
            self._bad_messages.note(endpoint=self.endpoint, error=str(error))
            if isinstance(error, OtherVersion) and not self.up:
                self._fail(error, REFUSED_BACKOFF_S)
            return
        if self.up:
            self._quiet_since_s = self._loop.awake_clock.s
        if isinstance(message, Pong | Welcome | Subscribed):
            self._on_greeting(message)
        elif isinstance(message, Error) and not message.request and (not self.up or message.code == "untrusted"):
            self._fail(raised(message), REFUSED_BACKOFF_S)
        else:
            self._loop.emit(Received(self, b"", message))

    def _read(self, frames: list[bytes]) -> Message:
        """Decode a message. Raises BadMessage; a type that is not taken costs no more than its header."""
        kind = kind_of(frames)
        if kind not in _ALWAYS and kind not in self._takes:
            raise BadMessage(f"{kind.__name__} is not accepted here")
        return decode(frames)

    def _on_greeting(self, message: Pong | Welcome | Subscribed) -> None:
        if isinstance(message, Pong):
            self.load, self.waiting = message.load, message.waiting
            self.first_tokens_s = message.first_tokens_s
            begins, self.draining = message.draining and not self.draining, message.draining
            if begins:
                self._loop.emit(LinkDraining(self))
            now = time.monotonic()
            if self._opened_s <= message.sent_s <= now:  # the echo of a ping of this connection
                self.round_trip.add(now - message.sent_s)
        elif isinstance(message, Welcome):
            self._welcome = message
            if self._topic and self._subscriber is None:
                self._subscribe(message.streams_port)
        else:
            self._subscribed = True
        if not self.up and self._welcome is not None and self._subscribed and self.rtt_s > 0:
            self.up, self.reason, self._failures, self._quiet_since_s = True, None, 0, self._loop.awake_clock.s
            self._due_s = 0.0  # the first ping that tells the round trip goes ahead of everything else
            self._loop.emit(LinkUp(self, self._welcome))

    def _fail(self, reason: HocketError, wait_s: float) -> None:
        answered = self._welcome is not None and not self.up
        self._drop_sockets()
        self.up, self.reason, self._encrypts, self.round_trip = False, reason, False, Estimate()
        self.draining = False
        self._failures += 1
        backoff_s = min(BACKOFF_S[0] * 2**self._failures, BACKOFF_S[1]) * random.uniform(0.5, 1.0)
        self._due_s = time.monotonic() + max(wait_s, backoff_s)
        self._loop.emit(LinkDown(self, reason, answered))

    def _drop_sockets(self) -> None:
        for socket in self._sockets:
            self._loop.sockets.drop(socket)
        self._connected, self._sockets = False, []

    def _drop_subscriber(self) -> None:
        if self._subscriber is not None:
            self._loop.sockets.drop(self._subscriber)
            self._subscriber = None

    def _send(self, message: Message, frames: list[bytes]) -> None:
        if not self._connected:
            return
        try:
            self._sockets[0].send_multipart(frames, zmq.NOBLOCK)
        except zmq.ZMQError as error:
            if self.up:
                log.debug("not sent", endpoint=self.endpoint, error=str(error))
        else:
            self._gate.count(message, sum(map(len, frames)))
