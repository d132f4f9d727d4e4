"""The sockets that one thread has opened: made with our options and keys, polled, read and closed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import zmq

from hocket_bus import zap
from hocket_bus.endpoints import is_tcp
from hocket_bus.keys import Keys
from hocket_bus.wire import MAX_BODY_BYTES

from .curve import guard, open_judge, user_of

HANDSHAKE_S = 12.0  # a handshake takes five round trips
_DRAIN = 32  # messages read from one socket before the others get their turn

Socket = zmq.Socket[bytes]


class Sockets:
    """All sockets of a bus. Everything but the constructor runs on the thread that turns its loop."""

    def __init__(self, keys_folder: Path, wake: int, on_wake: Callable[[], None]) -> None:
        """`on_wake` is called when the descriptor `wake` is readable."""
        self.keys: Keys | None = None  # of this machine, once tcp has needed them
        self._keys_folder = keys_folder
        self._context = zmq.Context(io_threads=1)
        self._context.set(zmq.MAX_SOCKETS, 1023)
        self._poller = zmq.Poller()
        self._poller.register(wake, zmq.POLLIN)
        self._readers: dict[Socket | int, Callable[[], None]] = {wake: on_wake}

    def load_keys(self, endpoint: str) -> Keys | None:
        """The keys, which tcp needs; None for ipc, which the file system guards. Raises BadConfiguration."""
        if not is_tcp(endpoint):
            return None
        if self.keys is None:
            self.keys = keys = Keys(self._keys_folder)
            judge = open_judge(self._context)

            def decide(frames: list[bytes]) -> None:
                judge.send_multipart([*frames[:2], *zap.answer(frames[2:], keys)])

            self.watch(judge, decide)
        return self.keys

    def open(
        self, kind: zmq.SocketType, endpoint: str, options: Mapping[zmq.SocketOption, int], server: str | None = None
    ) -> Socket:
        """A socket for `endpoint`; `server` is the public key that the other end must have, None on the binding end."""
        keys = self.load_keys(endpoint)
        socket: Socket = self._context.socket(kind)
        common: dict[zmq.SocketOption, int] = {zmq.LINGER: 0, zmq.MAXMSGSIZE: MAX_BODY_BYTES}
        common |= {zmq.HANDSHAKE_IVL: int(HANDSHAKE_S * 1000), zmq.IPV6: "[" in endpoint}
        common |= {zmq.TCP_KEEPALIVE: 1, zmq.TCP_KEEPALIVE_IDLE: 10, zmq.TCP_KEEPALIVE_INTVL: 5}
        common |= {zmq.TCP_KEEPALIVE_CNT: 3, zmq.TCP_MAXRT: 10_000}
        for option, value in (common | dict(options)).items():
            socket.set(option, value)
        if keys is not None:
            guard(socket, keys, server)
        return socket

    def open_plain(self, endpoint: str) -> Socket:
        """A STREAM socket: what is sent and read are the bytes of a tcp connection to `endpoint`."""
        socket: Socket = self._context.socket(zmq.STREAM)
        socket.linger, socket.ipv6 = 0, "[" in endpoint
        return socket

    def watch(self, socket: Socket, on_frames: Callable[[list[bytes]], None]) -> None:
        """From the next turn on hand every message that comes to `on_frames`."""

        def drain() -> None:
            for _ in range(_DRAIN):
                if socket.closed:  # by what the last message led to
                    return
                try:
                    frames = socket.recv_multipart(zmq.NOBLOCK)
                except zmq.Again:
                    return
                on_frames(frames)

        self._add(socket, drain)

    def watch_users(self, socket: Socket, on_frames: Callable[[list[bytes], str], None]) -> None:
        """The same for a socket that tells with each message under which name its sender's key is allowed."""

        def drain() -> None:
            for _ in range(_DRAIN):
                try:
                    frames = socket.recv_multipart(zmq.NOBLOCK, copy=False)
                except zmq.Again:
                    return
                on_frames([frame.bytes for frame in frames], user_of(frames[-1]))

        self._add(socket, drain)

    def turn(self, wait_ms: int) -> None:
        """Wait at most `wait_ms` for messages, and hand over those that came."""
        readers = self._readers
        for socket, _ in self._poller.poll(wait_ms):
            if socket in readers:  # and was not dropped by what came at another one
                readers[socket]()

    def read(self, socket: Socket | int) -> None:
        """Hand over what has arrived at one socket, if it is still watched."""
        reader = self._readers.get(socket)
        if reader is not None:
            reader()

    def drop(self, socket: Socket) -> None:
        """Close a socket now; what it has not sent is lost."""
        if self._readers.pop(socket, None) is not None:  # not one whose making failed half-way
            self._poller.unregister(socket)
        socket.close(0)

    def linger(self, seconds: float) -> None:
        """Let `close` give messages already sent so long to leave."""
        for socket in self._watched():
            socket.linger = int(seconds * 1000)

    def close(self) -> None:
        """Close all of them."""
        for socket in self._watched():
            socket.close()
        self._context.destroy()

    def _watched(self) -> list[Socket]:
        return [socket for socket in self._readers if not isinstance(socket, int)]

    def _add(self, socket: Socket, drain: Callable[[], None]) -> None:
        self._readers[socket] = drain
        self._poller.register(socket, zmq.POLLIN)
