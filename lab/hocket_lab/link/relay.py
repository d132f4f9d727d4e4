"""The link itself: accepts connections, joins each to the target by two pipes, goes down and comes back.

One event loop in a thread of its own: a thread for each direction would take more of a small machine than the link.
"""

from __future__ import annotations

import asyncio
import itertools
import select
import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import TypeVar

import structlog

from hocket_lab.link.conditions import Conditions, parse_address
from hocket_lab.link.law import DelayLaw
from hocket_lab.link.pipe import Pipe

CONNECT_TIMEOUT_S = 5.0
CLOSE_TIMEOUT_S = 2.0
T = TypeVar("T")


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
        self._connections: set[_Connection] = set()
        self._joining: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count()
        self._passed_bytes = (0, 0)
        family = socket.AF_INET6 if ":" in listen[0] else socket.AF_INET
        self._listener = socket.create_server(listen, family=family, backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hocket-link", daemon=True)
        self._thread.start()
        self._ready.wait(CONNECT_TIMEOUT_S)

    def set(self, conditions: Conditions) -> None:
        """Change the conditions: bytes that arrive from now on follow `conditions`."""

        def change() -> None:
            self._conditions = conditions
            for connection in self._connections:
                connection.use(conditions)

        self._do(change)

    def partition(self, *, cut: bool = False) -> None:
        """Take the link down: nothing flows, new connections wait; with `cut` the open ones are closed as well."""
        self._do(lambda: self._hold(True))
        if cut:
            self.cut()

    def heal(self) -> None:
        """Bring the link up again: what waited is sent, nothing is lost."""
        self._do(lambda: self._hold(False))

    def cut(self) -> None:
        """Close every open connection now, dropping what is under way; new ones are taken as before."""
        self._do(self._cut)

    def close(self) -> None:
        """Stop listening and close everything; returns within about two seconds, may be called twice."""
        self._do(self._closed.set)
        self._thread.join(CLOSE_TIMEOUT_S)

    @property
    def connections(self) -> int:
        """Return the number of connections that are open through the link."""
        return self._do(lambda: len(self._connections))

    @property
    def passed_bytes(self) -> tuple[int, int]:
        """Bytes handed on forward and backward so far by connections that have ended or still run."""

        def count() -> tuple[int, int]:
            totals = [self._passed_bytes, *(connection.passed_bytes for connection in self._connections)]
            return sum(total[0] for total in totals), sum(total[1] for total in totals)

        return self._do(count)

    def __enter__(self) -> Link:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _do(self, job: Callable[[], T]) -> T:
        """Run `job` on the loop's thread, or here once that has ended, and return its result."""
        if not self._thread.is_alive():
            return job()

        async def run() -> T:
            return job()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(CONNECT_TIMEOUT_S)

    # Everything below runs on the loop's thread.

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(_Exact())) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._began_s = self._loop.time()
        self._closed, self._up = asyncio.Event(), asyncio.Event()
        self._up.set()
        self._listener.setblocking(False)
        self._loop.add_reader(self._listener, self._accept)
        self._ready.set()
        await self._closed.wait()
        self._loop.remove_reader(self._listener)
        self._accept()  # whoever has connected by now sees an end, not a reset
        self._listener.close()
        for task in self._joining:
            task.cancel()
        await asyncio.gather(*self._joining, return_exceptions=True)
        self._cut()

    def _hold(self, held: bool) -> None:
        if held:
            self._up.clear()
        else:
            self._up.set()
        for connection in self._connections:
            connection.hold(held)

    def _cut(self) -> None:
        for connection in list(self._connections):
            connection.cut()

    def _accept(self) -> None:
        with suppress(BlockingIOError):
            while True:
                client, _ = self._listener.accept()
                connection = _Connection(self, next(self._numbers), self._conditions)
                task = self._loop.create_task(self._join_to_target(client, connection))
                task.add_done_callback(partial(self._on_joined, client, connection))
                self._joining.add(task)

    def _on_joined(self, client: socket.socket, connection: _Connection, task: asyncio.Task[None]) -> None:
        self._joining.discard(task)
        if connection not in self._connections:  # also where the task was cancelled before it began
            client.close()

    async def _join_to_target(self, client: socket.socket, connection: _Connection) -> None:
        """Join a client to the target; while the link is down, wait until it is up again, as a retried SYN would."""
        try:
            await self._up.wait()
            reaching = self._loop.create_connection(lambda: connection.backward, *self._target)
            await asyncio.wait_for(reaching, CONNECT_TIMEOUT_S)
            await self._loop.connect_accepted_socket(lambda: connection.forward, client)
        except OSError as error:
            self._log.warning("target not reachable, connection closed", error=str(error))
        else:
            self._connections.add(connection)
            connection.start(self._conditions, held=not self._up.is_set())

    def _forget(self, connection: _Connection) -> None:
        if connection in self._connections:
            self._connections.discard(connection)
            forward, backward = connection.passed_bytes
            self._passed_bytes = self._passed_bytes[0] + forward, self._passed_bytes[1] + backward


class _Exact(selectors.EpollSelector):
    """A selector for microseconds: epoll waits for whole milliseconds, then select waits for epoll's own descriptor."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        whole = timeout // 1e-3 * 1e-3
        ready = super().select(whole - 1e-6)  # which is rounded up
        if not ready:
            select.select([self.fileno()], [], [], timeout - whole)
            ready = super().select(0)
        return ready


class _Connection:
    """A client joined to the target; each half closes when the other end has closed it."""

    def __init__(self, link: Link, number: int, conditions: Conditions) -> None:
        self._link, self._number = link, number
        self._open_pipes = 2
        forward, backward = self._laws(conditions)
        self.forward = Pipe(forward, link._began_s, self._pipe_ended)
        self.backward = Pipe(backward, link._began_s, self._pipe_ended)
        self.forward.back, self.backward.back = self.backward, self.forward

    @property
    def passed_bytes(self) -> tuple[int, int]:
        return self.forward.passed_bytes, self.backward.passed_bytes

    def start(self, conditions: Conditions, held: bool) -> None:
        self.use(conditions)  # which may have changed while the link was down
        if self.forward.source.is_closing() or self.backward.source.is_closing():  # reached, and lost at once
            self.cut()
        else:
            self.hold(held)

    def hold(self, held: bool) -> None:
        self.forward.hold(held)
        self.backward.hold(held)

    def use(self, conditions: Conditions) -> None:
        forward, backward = self._laws(conditions)
        self.forward.use(forward)
        self.backward.use(backward)

    def cut(self) -> None:
        """Show both ends the end of the connection, whatever was still to come."""
        self._link._forget(self)
        for pipe in (self.forward, self.backward):
            pipe.cut()
            with suppress(OSError):  # the other end was first
                pipe.source.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
            pipe.source.abort()

    def _laws(self, conditions: Conditions) -> tuple[DelayLaw, DelayLaw]:
        return (
            DelayLaw(conditions, conditions.forward, f"{self._number}/forward"),
            DelayLaw(conditions, conditions.backward, f"{self._number}/backward"),
        )

    def _pipe_ended(self, clean: bool) -> None:
        self._open_pipes -= 1
        if not clean and self in self._link._connections:
            self.cut()
        elif self._open_pipes == 0:
            self._link._forget(self)
            self.forward.source.close()
            self.backward.source.close()
