"""The I/O loop of a process: one thread owns every socket; all other code receives events and calls `send`."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Container, Iterable
from pathlib import Path

import structlog

from hocket_bus import paths
from hocket_bus.egress import Gate, Open
from hocket_bus.endpoints import check_endpoint
from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.messages import ANSWERS, REQUESTS, Hello, Message

from .awake_clock import LONGEST_STEP_S, AwakeClock
from .events import Event, Greeter, Received
from .link import Link
from .port import Port
from .probe import Probe
from .server import Server
from .socket_set import SocketSet

CALL_S = 30.0
REST_S = 0.5  # of a loop whose turns fail
Handler = Callable[[Received], None]

log = structlog.get_logger(__name__)


class Routes:
    """Handlers for a port's messages, by type. A port with Routes refuses messages of other types unread.

    They are filled at the start; `handlers` is for reading.
    """

    def __init__(self) -> None:
        self.handlers: dict[type[Message], list[Handler]] = {}

    def add(self, kinds: Iterable[type[Message]], handler: Handler) -> None:
        """Route messages of these types to `handler`, after the handlers that were added before."""
        for kind in kinds:
            handlers = self.handlers.setdefault(kind, [])
            if handler not in handlers:  # two modes may share a message: its session tells whose it is
                handlers.append(handler)

    def dispatch(self, event: Received) -> None:
        """Pass a message to its handlers."""
        for handler in self.handlers.get(type(event.message), ()):
            handler(event)


class Bus:
    """The loop of a process's sockets. `on_event` is called in it and must not block.

    Close the bus, or use it as a context manager. The loop runs on an I/O thread of its own, or belongs to the caller,
    who turns it by `step`: then a message costs no change of threads.
    """

    def __init__(self, on_event: Callable[[Event], None], keys: Path | None = None, *, own_thread: bool = True) -> None:
        """Set up the loop; `keys` is the folder of this machine's keys, read when the first tcp endpoint is used."""
        self.awake_clock = AwakeClock()
        self._on_event = on_event
        self._commands: deque[Callable[[], None]] = deque()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._woken = False
        self._posting = threading.RLock()  # a finalizer may post in the middle of a post
        self.sockets = SocketSet(keys or paths.keys(), self._wake, self._on_woken)
        self._ports: list[Port] = []
        self._routes: dict[Port, Routes] = {}
        self._running = True
        self._owner: int | None = None  # the thread that turns the loop; None before the first turn
        self._thread = threading.Thread(target=self._run, name="bus", daemon=True) if own_thread else None
        if self._thread is not None:
            self._thread.start()
            self._owner = self._thread.ident

    def serve(self, endpoint: str, greet: Greeter, takes: Routes | Container[type[Message]] = REQUESTS) -> Server:
        """Bind at `endpoint` (and its `.pub` twin). Raises BadConfiguration if that fails, or if there is no key.

        Messages of types that are not in `takes` are refused unread. If `takes` are Routes, their handlers are called
        instead of `on_event`.
        """
        server = Server(self, endpoint, greet, _kinds(takes))
        self._add(server, takes)
        return server

    def dial(
        self,
        endpoint: str,
        hello: Hello,
        topic: bytes = b"",
        gate: Gate | None = None,
        *,
        takes: Routes | Container[type[Message]] = ANSWERS,
        key: str = "",
    ) -> Link:
        """Connect to `endpoint` and stay connected; LinkUp and LinkDown report the state.

        Every message that is sent passes `gate`; incoming ones of types that are not in `takes` are dropped unread.
        `key` is the public key that the other end must have; if empty, the one that is known for its endpoint.
        Raises BadConfiguration for a malformed endpoint or if the keys that tcp needs are missing, and Forbidden if
        nothing may be sent there.
        """
        check_endpoint(endpoint)
        gate = gate or Open()
        gate.check(hello)
        link = Link(self, endpoint, hello, topic, gate, takes=_kinds(takes), key=key)
        self._add(link, takes)
        return link

    def hang_up(self, link: Link, reason: HocketError) -> None:
        """Close a link for good; its last LinkDown has this reason."""

        def end() -> None:
            self._ports.remove(link)
            self._routes.pop(link, None)
            link.hang_up(reason)

        self.do(end)

    def probe(self, server: Server, every_s: float, answered: Callable[[], None]) -> None:
        """Greet this process's own `server` over a new connection now and every `every_s`.

        `answered` is called in the loop.
        """
        self._add(Probe(self, server.endpoint, every_s, answered))

    def reload_keys(self) -> None:
        """Read again which machines this one knows. Raises BadConfiguration."""
        if self.sockets.keys is not None:
            self.sockets.keys.reload()

    def lets_in(self, name: str) -> bool:
        """Tell whether the key of this name may connect here, as keys were last read."""
        return self.sockets.keys is not None and self.sockets.keys.lets_in(name)

    def close(self, linger_s: float = 0.2) -> None:
        """Close every socket, with `linger_s` for messages that were sent already, and end the thread."""
        if not self._running:
            return
        if self._thread is None:
            self._stop(linger_s)
            self.sockets.close()
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
        """Return how many posted callables have not run yet."""
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

    def do(self, command: Callable[[], None]) -> None:
        """Run `command` in the loop: at once where this is its thread, or where it has not begun."""
        if self._owner is None or self._owner == threading.get_ident():
            command()
        else:
            self.post(command)

    def emit(self, event: Event) -> None:
        """Pass an event to its handlers; for ports, in the loop only."""
        if isinstance(event, Received) and (routes := self._routes.get(event.port)) is not None:
            routes.dispatch(event)
        else:
            self._on_event(event)

    def step(self, until_s: float = float("inf")) -> None:
        """Run one turn of the loop: wait for something to do, until `until_s` on the monotonic clock, and do it."""
        self._owner = threading.get_ident()
        self.sockets.turn(self._wait_ms(until_s))
        while self._commands:
            self._commands.popleft()()
        now = time.monotonic()
        if self.awake_clock.step(now):
            log.info("the machine slept; connecting anew")
            for port in self._ports:
                port.on_wake()
        self.sockets.limits.look(now)
        for port in self._ports:
            port.tick(now)

    def _add(self, port: Port, takes: Routes | Container[type[Message]] = ()) -> None:
        def start() -> None:
            port.start()
            if isinstance(takes, Routes):
                self._routes[port] = takes
            self._ports.append(port)

        self._call(start)

    def _call(self, command: Callable[[], None]) -> None:
        """Run `command` in the loop, wait for its end and raise what it raises."""
        done = threading.Event()
        failure: list[Exception] = []

        def run() -> None:
            try:
                command()
            except Exception as error:  # noqa: BLE001 - carried to the caller's thread
                failure.append(error)
            done.set()

        self.do(run)
        if not done.wait(CALL_S):
            raise Unavailable("the loop of the bus does not answer", "restart this process")
        if failure:
            raise failure[0]

    # Everything below runs on the loop's thread.

    def _run(self) -> None:
        guarded = GuardedLoop(log, "error on the I/O thread")  # one bad event must not silence every stream
        while self._running:
            guarded.run(self.step)
        self.sockets.close()

    def _on_woken(self) -> None:
        os.eventfd_read(self._wake)
        self._woken = False  # before the commands are taken, so that none is left without a wake

    def _wait_ms(self, until_s: float) -> int:
        if self._commands:  # left by a turn that failed
            return 0
        now = time.monotonic()
        due = min([port.due_s for port in self._ports] + [self.sockets.limits.due_s, now + LONGEST_STEP_S, until_s])
        return int((due - now) * 1000) + 1 if due > now else 0

    def _stop(self, linger_s: float) -> None:
        self.sockets.linger(linger_s)
        for port in self._ports:
            port.on_close()
        self._running = False


def _kinds(takes: Routes | Container[type[Message]]) -> Container[type[Message]]:
    return takes.handlers if isinstance(takes, Routes) else takes


class GuardedLoop:
    """A guard of a loop: an iteration that raises is logged, and after two in a row it pauses.

    So one bad event ends nothing, and a failure that repeats fills no disk.
    """

    def __init__(self, log: structlog.typing.FilteringBoundLogger, event: str) -> None:
        self._log = log
        self._event = event
        self._failed = False

    def run(self, iteration: Callable[[], None]) -> None:
        """Run one iteration; pause for `REST_S` if it fails and the one before it had failed, too."""
        try:
            iteration()
        except Exception:  # noqa: BLE001 - whatever it was, it is logged
            self._log.exception(self._event)
            if self._failed:
                time.sleep(REST_S)
            self._failed = True
        else:
            self._failed = False
