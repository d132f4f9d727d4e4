"""The sockets of one thread: made with common options and keys, polled, read and closed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import zmq

from hocket_bus.endpoints import is_tcp
from hocket_bus.limits.connections import SECURED_BYTES
from hocket_bus.trust import zap
from hocket_bus.trust.keys import Keys
from hocket_bus.wire import MAX_BODY_BYTES

from .connection_limits import EVENTS, ConnectionLimits, Refusal
from .curve import guard, open_judge, user_of
from .incoming import Incoming, receive

HANDSHAKE_S = 12.0  # a handshake takes five round trips
_DRAIN, _DRAIN_S = 32, 0.005  # messages read from one socket, and for how long, before the others get their turn

Socket = zmq.Socket[bytes]


OnEvent = Callable[[list[bytes]], object]
OnFrames = Callable[[list[bytes]], None]
OnRequest = Callable[[list[bytes], str], None]
OnRefused = Callable[[bytes, Refusal], None]


class SocketSet:
    """The sockets of a bus. Everything but the constructor runs on the thread that turns its loop."""

    def __init__(self, keys_folder: Path, wake: int, on_wake: Callable[[], None]) -> None:
        """Set up polling; `on_wake` is called when the descriptor `wake` is readable."""
        self.keys: Keys | None = None  # of this machine, once tcp has needed them
        self.limits = ConnectionLimits()
        self._keys_folder = keys_folder
        self._context = zmq.Context(io_threads=1)
        self._context.set(zmq.MAX_SOCKETS, 1023)
        self._poller = zmq.Poller()
        self._poller.register(wake, zmq.POLLIN)
        self._readers: dict[Socket | int, Callable[[], None]] = {wake: on_wake}
        self._monitors: dict[Socket, Socket] = {}

    def load_keys(self, endpoint: str) -> Keys | None:
        """Return the keys, which tcp needs; None for ipc, which the file system guards. Raises BadConfiguration."""
        if not is_tcp(endpoint):
            return None
        if self.keys is None:
            self.keys = keys = Keys(self._keys_folder)
            judge = open_judge(self._context)

            def decide(frames: list[bytes]) -> None:
                judge.send_multipart([*frames[:2], *zap.let_in(zap.answer(frames[2:], keys), self.limits.lets_in)])

            self.watch(judge, decide)
        return self.keys

    def open(
        self, kind: zmq.SocketType, endpoint: str, options: Mapping[zmq.SocketOption, int], server: str | None = None
    ) -> Socket:
        """Open a socket for `endpoint`; `server` is the public key that the other end must have, None to bind."""
        keys = self.load_keys(endpoint)
        socket: Socket = self._context.socket(kind)
        common: dict[zmq.SocketOption, int] = {zmq.LINGER: 0, zmq.MAXMSGSIZE: MAX_BODY_BYTES + SECURED_BYTES}
        common |= {zmq.HANDSHAKE_IVL: int(HANDSHAKE_S * 1000), zmq.IPV6: "[" in endpoint}
        common |= {zmq.TCP_KEEPALIVE: 1, zmq.TCP_KEEPALIVE_IDLE: 10, zmq.TCP_KEEPALIVE_INTVL: 5}
        common |= {zmq.TCP_KEEPALIVE_CNT: 3, zmq.TCP_MAXRT: 10_000}
        for option, value in (common | dict(options)).items():
            socket.set(option, value)
        if keys is not None:
            guard(socket, keys, server)
            if server is None:
                self.monitor(socket, EVENTS, self.limits.on_event)
        return socket

    def open_plain(self, endpoint: str) -> Socket:
        """Open a STREAM socket: it sends and reads the bytes of a tcp connection to `endpoint`."""
        socket: Socket = self._context.socket(zmq.STREAM)
        socket.linger, socket.ipv6 = 0, "[" in endpoint
        return socket

    def watch(self, socket: Socket, on_frames: OnFrames) -> None:
        """Pass every message of a socket to `on_frames`, from the next turn on."""
        self.watch_whole(socket, lambda message: on_frames(message.texts()))

    def watch_whole(self, socket: Socket, on_message: Callable[[Incoming], object]) -> None:
        """Pass every message of a socket to `on_message`, with its size on the wire."""
        routed = socket.type == zmq.ROUTER

        def drain() -> None:
            until = time.monotonic() + _DRAIN_S
            for _ in range(_DRAIN):
                if socket.closed:  # by what the last message led to
                    return
                try:
                    message = receive(socket, routed)
                except zmq.Again:
                    return
                on_message(message)
                if time.monotonic() > until:
                    return

        self._readers[socket] = drain
        self._poller.register(socket, zmq.POLLIN)

    def watch_users(self, socket: Socket, on_request: OnRequest, on_refused: OnRefused) -> None:
        """Pass a bound tcp socket's messages to `on_request`, with the name under which the sender's key is allowed.

        A message beyond a key's share is reported, with its first frame, to `on_refused` instead.
        """
        topics = socket.type == zmq.XPUB

        def take(message: Incoming) -> None:
            refusal = self.limits.refuses(message, topics=topics)
            if refusal is None:
                on_request(message.texts(), user_of(message.frames[-1]))
            else:
                on_refused(message.frames[0].bytes, refusal)

        self.watch_whole(socket, take)

    def monitor(self, socket: Socket, events: int, on_event: OnEvent) -> None:
        """Pass the given events of a socket's connections to `on_event`, for as long as it is open."""
        name = f"inproc://monitor.{socket.underlying}"
        socket.monitor(name, events)
        monitor = self._monitors[socket] = self._context.socket(zmq.PAIR)
        monitor.rcvhwm = 0  # libzmq waits where it is full, on the thread that carries every connection
        monitor.connect(name)
        self.watch_whole(monitor, lambda message: on_event(message.texts()))

    def turn(self, wait_ms: int) -> None:
        """Wait at most `wait_ms` for messages, and pass on those that came."""
        readers = self._readers
        for socket, _ in self._poller.poll(wait_ms):
            if socket in readers:  # and was not dropped by what came at another one
                readers[socket]()

    def read(self, socket: Socket | int) -> None:
        """Pass on what has arrived at one socket, if it is still watched."""
        reader = self._readers.get(socket)
        if reader is not None:
            reader()

    def drop(self, socket: Socket) -> None:
        """Close a socket now; what it has not sent is lost."""
        if socket in self._monitors:
            socket.disable_monitor()  # or libzmq's I/O thread waits for ever to tell of an event that nobody hears
            self.drop(self._monitors.pop(socket))
        if self._readers.pop(socket, None) is not None:  # not one whose making failed half-way
            self._poller.unregister(socket)
        socket.close(0)

    def linger(self, seconds: float) -> None:
        """Allow messages that were sent already so many seconds to leave after `close`."""
        for socket in self._watched():
            socket.linger = int(seconds * 1000)

    def close(self) -> None:
        """Close all sockets."""
        for socket in self._monitors:
            socket.disable_monitor()
        for socket in self._watched():
            socket.close()
        self._context.destroy()

    def _watched(self) -> list[Socket]:
        return [socket for socket in self._readers if not isinstance(socket, int)]
