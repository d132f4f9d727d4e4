"""One thread owns every socket of a process; everything else sees events and calls `send`."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path

import structlog
import zmq

from hocket_bus import paths, zap
from hocket_bus.egress import Gate, Open
from hocket_bus.endpoints import check_endpoint, is_tcp
from hocket_bus.errors import Unavailable
from hocket_bus.keys import Keys
from hocket_bus.log import GuardedLoop
from hocket_bus.messages import Hello
from hocket_bus.wire import MAX_BODY_BYTES

from .awake import LONGEST_STEP_S, Awake
from .curve import guard, open_judge, user_of
from .events import Event, Greeter
from .link import OPENING_S, Link
from .probe import Probe
from .server import Server

CALL_S = 30.0
_DRAIN = 32  # messages read from one socket before the others get their turn

log = structlog.get_logger(__name__)


class Bus:
    """The sockets and their loop. `on_event` is called in it and must not block. Close it, or use it as a context
    manager.

    The loop runs on an I/O thread of its own, or is the caller's, who turns it by `step`: then a message costs no
    change of threads.
    """

    def __init__(self, on_event: Callable[[Event], None], keys: Path | None = None, *, own_thread: bool = True) -> None:
        """`keys` is the folder of this machine's keys, read when the first tcp endpoint is used."""
        self._on_event = on_event
        self._keys_folder = keys or paths.keys()
        self.keys: Keys | None = None
        self._context = zmq.Context(io_threads=1)
        self._context.set(zmq.MAX_SOCKETS, 1023)
        self._commands: deque[Callable[[], None]] = deque()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._woken = False
        self._posting = threading.RLock()  # a finalizer may post in the middle of a post
        self._poller = zmq.Poller()
        self._poller.register(self._wake, zmq.POLLIN)
        self._readers: dict[zmq.Socket[bytes], Callable[[], None]] = {}
        self._ports: list[Server | Link | Probe] = []
        self.awake = Awake()
        self._running = True
        self._owner: int | None = None  # the thread that turns the loop; None before the first turn
        self._thread = threading.Thread(target=self._run, name="bus", daemon=True) if own_thread else None
        if self._thread is not None:
            self._thread.start()
            self._owner = self._thread.ident

    def serve(self, endpoint: str, greet: Greeter) -> Server:
        """Bind at `endpoint` (and its `.pub` twin). Raises BadConfiguration when it cannot, or has no key."""
        server = Server(self, endpoint, greet)
        self._call(lambda: self._add(server, server._bind))
        return server

    def dial(self, endpoint: str, hello: Hello, topic: bytes = b"", gate: Gate | None = None) -> Link:
        """Connect to `endpoint` and keep connected; LinkUp and LinkDown tell how it goes. What is sent passes `gate`.

        Raises BadConfiguration for what is no endpoint or when the keys that tcp needs are wanting, Forbidden where
        nothing may be sent there.
        """
        check_endpoint(endpoint)
        gate = gate or Open()
        gate.check(hello)
        link = Link(self, endpoint, hello, topic, gate)
        self._call(lambda: self._add(link, link._check_keys))
        return link

    def probe(self, server: Server, every_s: float, answered: Callable[[], None]) -> None:
        """Greet this process's own `server` over a new connection now and every `every_s`.

        `answered` is called in the loop.
        """
        probe = Probe(self, server.endpoint, every_s, answered)
        self._call(lambda: self._add(probe, lambda: None))

    def reload_keys(self) -> None:
        """Read again whom this machine knows. Raises BadConfiguration."""
        if self.keys is not None:
            self.keys.reload()

    def close(self, linger_s: float = 0.2) -> None:
        """Close every socket, giving messages already sent `linger_s` to leave, and end the thread."""
        if not self._running:
            return
        if self._thread is None:
            self._stop(linger_s)
            self._destroy()
        else:
            self.post(lambda: self._stop(linger_s))
            self._thread.join(timeout=linger_s + 5)
        with self._posting:
            self._running = False
            os.close(self._wake)

    def __enter__(self) -> Bus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def waiting(self) -> int:
        """Callables that were posted and have not run."""
        return len(self._commands)

    def post(self, *commands: Callable[[], None]) -> None:
        """Run `commands` in the loop's next turn; safe from any thread and from signal handlers."""
        with self._posting:
            if not self._running:  # whoever sends after the end is not heard
                return
            self._commands.extend(commands)
            if commands and not self._woken:  # otherwise the loop has yet to begin with what it was woken for
                self._woken = True
                os.eventfd_write(self._wake, 1)

    def step(self, until_s: float = float("inf")) -> None:
        """One turn of the loop: wait for something to do, at most until `until_s` on the monotonic clock, and do it."""
        self._owner = threading.get_ident()
        ready = self._poller.poll(self._wait_ms(until_s))
        for socket, _ in ready:
            if socket == self._wake:
                os.eventfd_read(self._wake)
                self._woken = False  # before the commands are taken, so that none is left without a wake
            elif socket in self._readers:
                self._readers[socket]()
        while self._commands:
            self._commands.popleft()()
        now = time.monotonic()
        if self.awake.step(now):
            log.info("the machine slept; connecting anew")
            for port in self._ports:
                port._woke()
        for port in self._ports:
            port._tick(now)

    # Everything below runs on the loop's thread, except _do and _call.

    def _do(self, command: Callable[[], None]) -> None:
        """Run `command` on the loop's thread: at once where this is it, or where the loop has not begun."""
        if self._owner is None or self._owner == threading.get_ident():
            command()
        else:
            self.post(command)

    def _call(self, command: Callable[[], None]) -> None:
        """The same, waiting for its end and raising what it raises."""
        done = threading.Event()
        failure: list[Exception] = []

        def run() -> None:
            try:
                command()
            except Exception as error:  # noqa: BLE001 - carried to the caller's thread
                failure.append(error)
            done.set()

        self._do(run)
        if not done.wait(CALL_S):
            raise Unavailable("the loop of the bus does not answer", "restart this process")
        if failure:
            raise failure[0]

    def _add(self, port: Server | Link | Probe, start: Callable[[], None]) -> None:
        start()
        self._ports.append(port)

    def _run(self) -> None:
        turns = GuardedLoop(log, "error on the I/O thread")  # one bad event must not silence every stream
        while self._running:
            turns.run(self.step)
        self._destroy()

    def _wait_ms(self, until_s: float) -> int:
        if self._commands:  # left by a turn that failed
            return 0
        now = time.monotonic()
        due = min([port._due_s for port in self._ports] + [now + LONGEST_STEP_S, until_s])
        return int((due - now) * 1000) + 1 if due > now else 0

    def _stop(self, linger_s: float) -> None:
        for socket in self._readers:
            socket.linger = int(linger_s * 1000)
        for port in self._ports:
            port._closed()
        self._running = False

    def _destroy(self) -> None:
        for socket in list(self._readers):
            socket.close()
        self._context.destroy()

    def _load_keys(self, endpoint: str) -> Keys | None:
        """The keys, which tcp needs; None for ipc, which the file system guards."""
        if not is_tcp(endpoint):
            return None
        if self.keys is None:
            self.keys = keys = Keys(self._keys_folder)
            judge = open_judge(self._context)

            def decide(frames: list[bytes]) -> None:
                judge.send_multipart([*frames[:2], *zap.answer(frames[2:], keys)])

            self._watch(judge, decide)
        return self.keys

    def _open_socket(
        self, kind: zmq.SocketType, endpoint: str, options: Mapping[zmq.SocketOption, int], server: str | None = None
    ) -> zmq.Socket[bytes]:
        """A socket for `endpoint`; `server` is the public key that the other end must have, None on the binding end."""
        keys = self._load_keys(endpoint)
        socket: zmq.Socket[bytes] = self._context.socket(kind)
        common: dict[zmq.SocketOption, int] = {zmq.LINGER: 0, zmq.MAXMSGSIZE: MAX_BODY_BYTES}
        common |= {zmq.HANDSHAKE_IVL: int(OPENING_S * 1000), zmq.IPV6: "[" in endpoint}
        common |= {zmq.TCP_KEEPALIVE: 1, zmq.TCP_KEEPALIVE_IDLE: 10, zmq.TCP_KEEPALIVE_INTVL: 5}
        common |= {zmq.TCP_KEEPALIVE_CNT: 3, zmq.TCP_MAXRT: 10_000}
        for option, value in (common | dict(options)).items():
            socket.set(option, value)
        if keys is not None:
            guard(socket, keys, server)
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

        self._read(socket, drain)

    def _watch_users(self, socket: zmq.Socket[bytes], on_frames: Callable[[list[bytes], str], None]) -> None:
        """The same for a socket that tells with each message under which name its sender's key is allowed."""

        def drain() -> None:
            for _ in range(_DRAIN):
                try:
                    frames = socket.recv_multipart(zmq.NOBLOCK, copy=False)
                except zmq.Again:
                    return
                on_frames([frame.bytes for frame in frames], user_of(frames[-1]))

        self._read(socket, drain)

    def _read(self, socket: zmq.Socket[bytes], drain: Callable[[], None]) -> None:

        self._readers[socket] = drain
        self._poller.register(socket, zmq.POLLIN)

    def _drop(self, socket: zmq.Socket[bytes]) -> None:
        if self._readers.pop(socket, None) is not None:  # not one whose making failed half-way
            self._poller.unregister(socket)
        socket.close(0)
