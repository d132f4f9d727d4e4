"""The link itself: accepts connections, joins each to the target by two pipes, goes down and comes back."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from types import TracebackType

import structlog

from hocket_tools.link.conditions import Conditions, parse_address
from hocket_tools.link.law import DelayLaw
from hocket_tools.link.pipe import Pipe

CONNECT_TIMEOUT_S = 5.0
CLOSE_TIMEOUT_S = 2.0
ACCEPT_POLL_S = 0.2


def start(listen: str, target: str, conditions: Conditions | None = None) -> Link:
    """Relay `listen` ("host:port", port 0 picks a free one) to `target`; the link is up when this returns.

    Raises ValueError for a malformed address, OSError when `listen` cannot be bound.
    """
    return Link(parse_address(listen), parse_address(target), conditions or Conditions())


class Link:
    """A running link; methods may be called from any thread. As a context manager it closes at the end."""

    def __init__(self, listen: tuple[str, int], target: tuple[str, int], conditions: Conditions) -> None:
        self._target, self._conditions = target, conditions
        self._log = structlog.get_logger("hocket.link").bind(target=f"{target[0]}:{target[1]}")
        self._began_s = time.monotonic()
        self._lock = threading.Lock()
        self._connections: set[_Connection] = set()
        self._numbers = itertools.count()
        self._up = threading.Event()
        self._up.set()
        self._closed = False
        self._passed_bytes = (0, 0)
        family = socket.AF_INET6 if ":" in listen[0] else socket.AF_INET
        self._listener = socket.create_server(listen, family=family, backlog=128)
        self._listener.settimeout(ACCEPT_POLL_S)
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, name="hocket-link", daemon=True)
        self._thread.start()

    def set(self, conditions: Conditions) -> None:
        """Change the weather: bytes that arrive from now on follow `conditions`."""
        with self._lock:
            self._conditions = conditions
            for connection in self._connections:
                connection.use(conditions)

    def partition(self, *, cut: bool = False) -> None:
        """Take the link down: nothing flows, new connections wait; with `cut` the open ones are closed as well."""
        self._hold(True)
        if cut:
            self.cut()

    def heal(self) -> None:
        """Bring the link back: what waited goes on its way, nothing is lost."""
        self._hold(False)

    def cut(self) -> None:
        """Close every open connection now, dropping what is under way; new ones are taken as before."""
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            connection.cut()

    def close(self) -> None:
        """Stop listening and close everything; returns within about two seconds, may be called twice."""
        with self._lock:
            self._closed = True
        self._up.set()
        self._thread.join(CLOSE_TIMEOUT_S)
        self._listener.close()
        with self._lock:
            connections = list(self._connections)
        deadline_s = time.monotonic() + CLOSE_TIMEOUT_S
        for connection in connections:
            connection.cut()
        for connection in connections:
            connection.join(deadline_s)

    @property
    def connections(self) -> int:
        """How many connections are open through the link."""
        with self._lock:
            return len(self._connections)

    @property
    def passed_bytes(self) -> tuple[int, int]:
        """Bytes handed on forward and backward so far by connections that have ended or still run."""
        with self._lock:
            totals = [self._passed_bytes, *(connection.passed_bytes for connection in self._connections)]
        return sum(total[0] for total in totals), sum(total[1] for total in totals)

    def __enter__(self) -> Link:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _hold(self, held: bool) -> None:
        with self._lock:
            if held:
                self._up.clear()
            else:
                self._up.set()
            for connection in self._connections:
                connection.hold(held)

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError as error:
                self._log.error("link stopped accepting", error=str(error))
                return
            threading.Thread(target=self._join_to_target, args=(client,), daemon=True).start()

    def _join_to_target(self, client: socket.socket) -> None:
        """A connection made while the link is down reaches the target when it is up again, as a retried SYN would."""
        self._up.wait()
        if self._closed:
            client.close()
            return
        try:
            server = socket.create_connection(self._target, timeout=CONNECT_TIMEOUT_S)
        except OSError as error:
            client.close()
            if not self._closed:
                self._log.warning("target not reachable, connection closed", error=str(error))
            return
        server.settimeout(None)
        with self._lock:
            if not self._closed:
                connection = _Connection(self, next(self._numbers), client, server, self._conditions)
                self._connections.add(connection)
                connection.start(held=not self._up.is_set())
                return
        client.close()
        server.close()

    def _forget(self, connection: _Connection) -> None:
        with self._lock:
            if connection in self._connections:
                self._connections.discard(connection)
                forward, backward = connection.passed_bytes
                self._passed_bytes = self._passed_bytes[0] + forward, self._passed_bytes[1] + backward


class _Connection:
    """One client joined to the target; each half closes when the other end has closed it."""

    def __init__(
        self, link: Link, number: int, client: socket.socket, server: socket.socket, conditions: Conditions
    ) -> None:
        self._link, self._number, self._sockets = link, number, (client, server)
        self._open_pipes = 2
        self._lock = threading.Lock()
        for end in self._sockets:
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        forward, backward = self._laws(conditions)
        self._forward = Pipe(client, server, forward, link._began_s, self._pipe_ended)
        self._backward = Pipe(server, client, backward, link._began_s, self._pipe_ended)

    @property
    def passed_bytes(self) -> tuple[int, int]:
        return self._forward.passed_bytes, self._backward.passed_bytes

    def start(self, held: bool) -> None:
        self._forward.start(held)
        self._backward.start(held)

    def hold(self, held: bool) -> None:
        self._forward.hold(held)
        self._backward.hold(held)

    def use(self, conditions: Conditions) -> None:
        forward, backward = self._laws(conditions)
        self._forward.use(forward)
        self._backward.use(backward)

    def cut(self) -> None:
        """Wake every thread of the connection; shutdown frees those inside recv or send."""
        self._forward.cut()
        self._backward.cut()
        for end in self._sockets:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # the other end was first
        self._link._forget(self)

    def join(self, deadline_s: float) -> None:
        self._forward.join(deadline_s)
        self._backward.join(deadline_s)

    def _laws(self, conditions: Conditions) -> tuple[DelayLaw, DelayLaw]:
        return (
            DelayLaw(conditions, conditions.forward, f"{self._number}/forward"),
            DelayLaw(conditions, conditions.backward, f"{self._number}/backward"),
        )

    def _pipe_ended(self, clean: bool) -> None:
        if not clean:
            self.cut()
        with self._lock:
            self._open_pipes -= 1
            last = self._open_pipes == 0
        if last:
            for end in self._sockets:
                end.close()
            self._link._forget(self)
