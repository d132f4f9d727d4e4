"""One I/O thread owns every socket of a process; everything else sees events and calls `send`.

A Server binds: a ROUTER for requests and, beside it, an XPUB for streams. A Link connects: a DEALER and, with a topic,
a SUB; it greets, pings, measures the round trip, notices silence and connects anew. The only module that imports zmq.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO

import structlog
import zmq

from .endpoints import claim, publish_endpoint
from .errors import BadConfiguration, BadMessage, HocketError, Unavailable, from_code
from .estimate import Estimate, Told
from .messages import Error, Hello, Message, Ping, Pong, Subscribed, Welcome
from .wire import MAX_BODY_BYTES, decode, encode

PING_S = 0.5  # two echoes make a new estimate, so a round trip that changes is known well within 3 s
LIVENESS_S = 3.0
BACKOFF_S = (0.1, 5.0)
REFUSED_BACKOFF_S = 5.0
_DRAIN = 200  # messages read from one socket before the others get their turn

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Received:
    """A message came. `route` names the sender on a Server and is empty on a Link."""

    port: Server | Link
    route: bytes
    message: Message


@dataclass(frozen=True, slots=True)
class LinkUp:
    """The other end has answered Hello, and the subscription, if any, is confirmed."""

    link: Link
    welcome: Welcome


@dataclass(frozen=True, slots=True)
class LinkDown:
    """The other end fell silent, or refused us; the link keeps trying."""

    link: Link
    reason: HocketError


Event = Received | LinkUp | LinkDown
Greeter = Callable[[Hello], Welcome | Error]


class Bus:
    """The I/O thread. `on_event` is called on it and must not block. Close it, or use it as a context manager."""

    def __init__(self, on_event: Callable[[Event], None]) -> None:
        self._on_event = on_event
        self._context = zmq.Context(io_threads=1)
        self._context.set(zmq.MAX_SOCKETS, 1023)
        self._commands: deque[Callable[[], None]] = deque()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._woken = False
        self._poller = zmq.Poller()
        self._poller.register(self._wake, zmq.POLLIN)
        self._readers: dict[zmq.Socket[bytes], Callable[[], None]] = {}
        self._ports: list[Server | Link] = []
        self._running = True
        self._thread = threading.Thread(target=self._run, name="bus", daemon=True)
        self._thread.start()

    def serve(self, endpoint: str, greet: Greeter) -> Server:
        """Bind at `endpoint` (and its `.pub` twin). Raises BadConfiguration when that is impossible."""
        server = Server(self, endpoint, greet)
        self._call(lambda: self._add(server, server._bind))
        return server

    def dial(self, endpoint: str, hello: Hello, topic: bytes = b"") -> Link:
        """Connect to `endpoint` and keep connected; LinkUp and LinkDown tell how it goes."""
        link = Link(self, endpoint, hello, topic)
        self._call(lambda: self._add(link, link._open))
        return link

    def close(self, linger_s: float = 0.2) -> None:
        """Close every socket, giving messages already sent `linger_s` to leave, and end the thread."""
        if not self._running:
            return
        self._post(lambda: self._stop(linger_s))
        self._thread.join(timeout=linger_s + 5)
        os.close(self._wake)

    def __enter__(self) -> Bus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Everything below runs on the I/O thread, except _post and _call.

    def _post(self, command: Callable[[], None]) -> None:
        self._commands.append(command)
        if not self._woken:  # otherwise the I/O thread has yet to begin with what it was woken for
            self._woken = True
            os.eventfd_write(self._wake, 1)

    def _call(self, command: Callable[[], None]) -> None:
        done = threading.Event()
        failure: list[Exception] = []

        def run() -> None:
            try:
                command()
            except Exception as error:  # noqa: BLE001 - carried to the caller's thread
                failure.append(error)
            done.set()

        self._post(run)
        if not done.wait(5):
            raise Unavailable("the I/O thread does not answer", "restart this process")
        if failure:
            raise failure[0]

    def _add(self, port: Server | Link, start: Callable[[], None]) -> None:
        start()
        self._ports.append(port)

    def _run(self) -> None:
        while self._running:
            try:
                self._step()
            except Exception:
                log.exception("error on the I/O thread")  # one bad event must not silence every stream
        for socket in list(self._readers):
            socket.close()
        self._context.destroy()

    def _step(self) -> None:
        ready = self._poller.poll(self._wait_ms())
        for socket, _ in ready:
            if socket == self._wake:
                os.eventfd_read(self._wake)
                self._woken = False  # before the commands are taken, so that none is left without a wake
            elif socket in self._readers:
                self._readers[socket]()
        while self._commands:
            self._commands.popleft()()
        now = time.monotonic()
        for port in self._ports:
            port._tick(now)

    def _wait_ms(self) -> int:
        now = time.monotonic()
        due = min([port._due_s for port in self._ports] + [now + 60])
        return max(0, int((due - now) * 1000) + 1)

    def _stop(self, linger_s: float) -> None:
        for socket in self._readers:
            socket.linger = int(linger_s * 1000)
        for port in self._ports:
            port._closed()
        self._running = False

    def _open_socket(self, kind: zmq.SocketType, options: Mapping[zmq.SocketOption, int]) -> zmq.Socket[bytes]:
        socket: zmq.Socket[bytes] = self._context.socket(kind)
        common: dict[zmq.SocketOption, int] = {zmq.LINGER: 0, zmq.HANDSHAKE_IVL: 3000, zmq.MAXMSGSIZE: MAX_BODY_BYTES}
        common |= {zmq.TCP_KEEPALIVE: 1, zmq.TCP_KEEPALIVE_IDLE: 10, zmq.TCP_KEEPALIVE_INTVL: 5}
        common |= {zmq.TCP_KEEPALIVE_CNT: 3, zmq.TCP_MAXRT: 10_000}
        for option, value in (common | dict(options)).items():
            socket.set(option, value)
        return socket

    def _watch(self, socket: zmq.Socket[bytes], on_frames: Callable[[list[bytes]], None]) -> None:
        def drain() -> None:
            for _ in range(_DRAIN):
                if socket.closed:  # by what the last message led to
                    return
                try:
                    frames = socket.recv_multipart(zmq.NOBLOCK)
                except zmq.Again:
                    return
                on_frames(frames)

        self._readers[socket] = drain
        self._poller.register(socket, zmq.POLLIN)

    def _drop(self, socket: zmq.Socket[bytes]) -> None:
        self._poller.unregister(socket)
        del self._readers[socket]
        socket.close(0)


class Server:
    """The binding end. Answers Hello and Ping itself; every other message becomes an event."""

    _due_s = float("inf")

    def __init__(self, bus: Bus, endpoint: str, greet: Greeter) -> None:
        self.endpoint = endpoint
        self.load = 0
        self.bad_messages = 0
        self._bus = bus
        self._greet = greet
        self._lock: IO[str] | None = None
        self._told_rtt_s = Told()

    def send(self, route: bytes, message: Message) -> None:
        """Send to one connected end; a message to an end that left is dropped."""
        frames = [route, *encode(message)]
        self._bus._post(lambda: self._send(self._router, frames))

    def rtt_s(self, route: bytes) -> float:
        """The round trip to a connected end, as that end told it last; 0 when it has not."""
        return self._told_rtt_s.get(route)

    def publish(self, topic: bytes, message: Message) -> None:
        """Publish on a topic; whoever is not subscribed misses it."""
        frames = [topic, *encode(message)]
        self._bus._post(lambda: self._send(self._xpub, frames))

    def _bind(self) -> None:
        self._lock = claim(self.endpoint)
        open_socket = self._bus._open_socket
        self._router = open_socket(zmq.ROUTER, {zmq.ROUTER_MANDATORY: 1, zmq.SNDHWM: 1000, zmq.RCVHWM: 10_000})
        self._xpub = open_socket(zmq.XPUB, {zmq.XPUB_MANUAL: 1, zmq.SNDHWM: 10_000})
        try:
            self._router.bind(self.endpoint)
            self._xpub.bind(publish_endpoint(self.endpoint))
        except zmq.ZMQError as error:
            self._router.close()
            self._xpub.close()
            raise BadConfiguration(f"cannot listen at {self.endpoint}: {error}", "choose a free endpoint") from error
        self._bus._watch(self._router, self._on_request)
        self._bus._watch(self._xpub, self._on_subscription)

    def _on_request(self, frames: list[bytes]) -> None:
        route, *rest = frames
        try:
            message = decode(rest)
        except BadMessage as error:
            self.bad_messages += 1
            if self.bad_messages & (self.bad_messages - 1) == 0:  # the 1st, 2nd, 4th, 8th...: bounded logging
                log.warning("bad message", endpoint=self.endpoint, count=self.bad_messages, error=str(error))
            reply: Message = Error(code="bad_message", text=error.text[:500], remedy=error.remedy)
        else:
            if isinstance(message, Ping):
                self._told_rtt_s.note(route, message.rtt_s)
                reply = Pong(sent_s=message.sent_s, load=self.load)
            elif isinstance(message, Hello):
                reply = self._greet(message)
            else:
                self._bus._on_event(Received(self, route, message))
                return
        self._send(self._router, [route, *encode(reply)])

    def _on_subscription(self, frames: list[bytes]) -> None:
        subscribe, topic = frames[0][:1] == b"\x01", frames[0][1:]
        if len(topic) != 16:  # the empty topic would read every stream
            return
        self._xpub.set(zmq.SUBSCRIBE if subscribe else zmq.UNSUBSCRIBE, topic)
        if subscribe:
            self._send(self._xpub, [topic, *encode(Subscribed())])

    def _send(self, socket: zmq.Socket[bytes], frames: list[bytes]) -> None:
        try:
            socket.send_multipart(frames, zmq.NOBLOCK)
        except zmq.ZMQError as error:
            log.debug("not sent", endpoint=self.endpoint, error=str(error))

    def _tick(self, now: float) -> None:
        """A server has no timers."""

    def _closed(self) -> None:
        if self._lock is not None:
            self._lock.close()


class Link:
    """The connecting end: reconnects for ever with jittered back-off, under a new automatic identity each time."""

    def __init__(self, bus: Bus, endpoint: str, hello: Hello, topic: bytes) -> None:
        self.endpoint = endpoint
        self.up = False
        self.round_trip = Estimate()
        self._bus = bus
        self._hello = hello
        self._topic = topic
        self._welcome: Welcome | None = None
        self._subscribed = False
        self._failures = 0
        self._due_s = 0.0
        self._opened_s = 0.0
        self._heard_s = 0.0
        self._sockets: list[zmq.Socket[bytes]] = []

    @property
    def rtt_s(self) -> float:
        """The round trip now, by the echo of pings in this very connection; 0 while the link is down."""
        return self.round_trip.now

    def send(self, message: Message) -> None:
        """Send to the other end; while the link is down the message is dropped."""
        frames = encode(message)
        self._bus._post(lambda: self._send(frames))

    def _open(self) -> None:
        now = time.monotonic()
        self._welcome, self._subscribed = None, not self._topic
        self._opened_s, self._heard_s, self._due_s = now, now, now
        options: dict[zmq.SocketOption, int] = {zmq.IMMEDIATE: 1, zmq.RCVHWM: 0, zmq.SNDHWM: 10_000}
        options |= {zmq.CONNECT_TIMEOUT: 3000, zmq.RECONNECT_IVL: random.randint(100, 300), zmq.RECONNECT_IVL_MAX: 5000}
        self._sockets = [self._bus._open_socket(zmq.DEALER, options)]
        if self._topic:
            subscriber = self._bus._open_socket(zmq.SUB, options)
            subscriber.set(zmq.SUBSCRIBE, self._topic)
            subscriber.connect(publish_endpoint(self.endpoint))
            self._bus._watch(subscriber, lambda frames: self._on_frames(frames[1:]))
            self._sockets.append(subscriber)
        # libzmq would reconnect silently, and what was under way would be lost without anybody knowing.
        monitor = self._sockets[0].get_monitor_socket(zmq.EVENT_DISCONNECTED)
        self._bus._watch(monitor, self._on_disconnected)
        self._sockets[0].connect(self.endpoint)
        self._bus._watch(self._sockets[0], self._on_frames)
        self._sockets.append(monitor)

    def _on_disconnected(self, _: list[bytes]) -> None:
        self._fail(Unavailable(f"the connection to {self.endpoint} broke", "is the daemon there running?"), 0.0)

    def _on_frames(self, frames: list[bytes]) -> None:
        try:
            message = decode(frames)
        except BadMessage as error:
            log.warning("bad message", endpoint=self.endpoint, error=str(error))
            return
        self._heard_s = time.monotonic()
        if isinstance(message, Pong | Welcome | Subscribed):
            self._on_greeting(message)
        elif isinstance(message, Error) and not message.request and not self.up:
            self._fail(from_code(message.code, message.text, message.remedy), REFUSED_BACKOFF_S)
        else:
            self._bus._on_event(Received(self, b"", message))

    def _on_greeting(self, message: Pong | Welcome | Subscribed) -> None:
        if isinstance(message, Pong):
            self.round_trip.add(self._heard_s - message.sent_s)
        elif isinstance(message, Welcome):
            self._welcome = message
        else:
            self._subscribed = True
        if not self.up and self._welcome is not None and self._subscribed and self.rtt_s > 0:
            self.up, self._failures = True, 0
            self._due_s = 0.0  # the first ping that tells the round trip goes ahead of everything else
            self._bus._on_event(LinkUp(self, self._welcome))

    def _tick(self, now: float) -> None:
        if now < self._due_s:
            return
        if not self._sockets:
            self._open()
            return
        if now - (self._heard_s if self.up else self._opened_s) > LIVENESS_S:
            self._fail(Unavailable(f"no answer from {self.endpoint}", "is the daemon there running?"), 0.0)
            return
        if self._welcome is None:
            self._send(encode(self._hello))
        self._send(encode(Ping(sent_s=now, rtt_s=self.rtt_s)))
        self._due_s = now + (PING_S if self.up else min(0.05, 0.002 + 0.5 * (now - self._opened_s)))

    def _fail(self, reason: HocketError, wait_s: float) -> None:
        for socket in self._sockets:
            self._bus._drop(socket)
        self._sockets = []
        self.up, self.round_trip = False, Estimate()
        self._failures += 1
        backoff_s = min(BACKOFF_S[0] * 2**self._failures, BACKOFF_S[1]) * random.uniform(0.5, 1.0)
        self._due_s = time.monotonic() + max(wait_s, backoff_s)
        self._bus._on_event(LinkDown(self, reason))

    def _send(self, frames: list[bytes]) -> None:
        if not self._sockets:
            return
        try:
            self._sockets[0].send_multipart(frames, zmq.NOBLOCK)
        except zmq.ZMQError as error:
            if self.up:
                log.debug("not sent", endpoint=self.endpoint, error=str(error))

    def _closed(self) -> None:
        """Its sockets close with the bus."""
