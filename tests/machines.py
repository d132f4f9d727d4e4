"""Machines with keys of their own, and sockets that speak for them past our own ends: for tests of who may do what."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue

import zmq

from hocket_bus.messages import Hello, Welcome
from hocket_bus.sockets import Bus, Event, Link, LinkUp, Received, Server, new_key_pair
from hocket_bus.sockets.curve import guard
from hocket_bus.trust.keys import Keys, Peer, exist, write_own, write_peers
from ports import free_port
from waiting import WAIT_S

PORT = free_port()  # and the next one
AT = f"tcp://127.0.0.1:{PORT}"


class Machine:
    """A machine with keys of its own, those in the folder if there are any."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not exist(folder):
            write_own(folder, new_key_pair())
        self.own = Keys(folder).own
        self.inbox: SimpleQueue[Event] = SimpleQueue()

    def knows(self, **peers: Peer) -> Machine:
        write_peers(self.folder, peers)
        return self

    def bus(self) -> Bus:
        return Bus(self.inbox.put, self.folder)

    def until(self, holds: Callable[[Event], bool]) -> Event:
        while True:
            event = self.inbox.get(timeout=WAIT_S)
            if holds(event):
                return event

    def received(self) -> Received:
        event = self.until(lambda event: isinstance(event, Received))
        assert isinstance(event, Received)
        return event

    @contextmanager
    def raw(self, kind: int, *, port: int = PORT, identity: bytes = b"") -> Iterator[zmq.Socket[bytes]]:
        """A plain socket with this machine's keys, connected to the server or, at the next port, to its streams."""
        keys = Keys(self.folder)
        context = zmq.Context()
        raw = context.socket(kind)
        guard(raw, keys, keys.server_key(AT))
        if identity:
            raw.set(zmq.IDENTITY, identity)
        raw.connect(f"tcp://127.0.0.1:{port}")
        try:
            yield raw
        finally:
            context.destroy(0)


def asks(machine: Machine) -> Peer:
    """As a server knows a machine whose questions it answers."""
    return Peer(machine.own.public, may=frozenset({"ask"}))


def serve(bus: Bus) -> Server:
    return bus.serve(AT, lambda _: Welcome(role="cloud", epoch=1))


def all_but_documents(machine: Machine) -> Peer:
    """As a cloud knows a machine that brings sessions and questions, and watches."""
    return Peer(machine.own.public, may=frozenset({"pair", "ask", "watch"}))


def dial(bus: Bus, topic: bytes = b"") -> Link:
    return bus.dial(AT, Hello(role="client"), topic)


def is_up(event: Event) -> bool:
    return isinstance(event, LinkUp)


def pump(source: socket.socket, sink: socket.socket, seen: list[bytes]) -> None:
    """Pass on what comes until either end is closed, and keep it."""
    with source, sink, suppress(OSError):
        while piece := source.recv(65_536):
            seen.append(piece)
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)


@contextmanager
def mapped(port: int) -> Iterator[int]:
    """A port that leads to another one, as a container's does."""
    with tapped([], port=port) as at:
        yield at


@contextmanager
def tapped(seen: list[bytes], sent: list[bytes] | None = None, *, port: int = PORT) -> Iterator[int]:
    """A port that leads to the server's; all that passes is put into `seen`, what clients say into `sent`."""
    threads: list[threading.Thread] = []

    def accept() -> None:
        with suppress(OSError):
            while True:
                near = entry.accept()[0]
                remote = socket.create_connection(("127.0.0.1", port))
                for *ends, kept in ((near, remote.dup(), seen if sent is None else sent), (remote, near.dup(), seen)):
                    threads.append(threading.Thread(target=pump, args=(*ends, kept)))
                    threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as entry:
        accepting = threading.Thread(target=accept)
        accepting.start()
        yield entry.getsockname()[1]
        entry.shutdown(socket.SHUT_RDWR)
        accepting.join(WAIT_S)
    for thread in threads:
        thread.join(WAIT_S)
