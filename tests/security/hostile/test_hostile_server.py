"""A server that floods who has dialed it: the link goes down with a reason, and nothing grows without end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import zmq

from hocket_bus.errors import ProtocolError
from hocket_bus.messages import Hello, Pong
from hocket_bus.sockets import Bus, LinkDown, inbound_limit
from hocket_bus.trust.keys import Peer
from hocket_bus.wire import encode
from machines import Machine
from ports import free_port

CUT = 6_000_000  # bytes that the relay lets through


@pytest.fixture
def machines(tmp_path: Path) -> tuple[Machine, Machine, str]:
    """A server, a laptop that trusts it, and where that is."""
    server, laptop, at = Machine(tmp_path / "server"), Machine(tmp_path / "laptop"), f"tcp://127.0.0.1:{free_port()}"
    return server, laptop.knows(server=Peer(server.own.public, at)), at


@contextmanager
def router(server: Machine, at: str) -> Iterator[zmq.Socket[bytes]]:
    """A plain socket of the server that lets everybody in."""
    context = zmq.Context()
    sock = context.socket(zmq.ROUTER)
    sock.curve_secretkey, sock.curve_publickey = server.own.secret.encode(), server.own.public.encode()
    sock.curve_server, sock.sndhwm = True, 0
    sock.bind(at)
    try:
        yield sock
    finally:
        context.destroy(0)


@contextmanager
def cut(at: str, port: int) -> Iterator[None]:
    """A relay from `at` to a port, which lets CUT bytes come back and no more."""

    def carry(source: socket.socket, sink: socket.socket, maximum: int) -> None:
        with suppress(OSError):
            while maximum and (piece := source.recv(min(65_536, maximum))):
                sink.sendall(piece)
                maximum -= len(piece)

    def accept() -> None:
        with suppress(OSError):
            while True:
                near = entry.accept()[0]
                remote = socket.create_connection(("127.0.0.1", port))
                ends.extend((near, remote))
                for ways in ((near, remote, 1 << 40), (remote, near, CUT)):
                    threads.append(threading.Thread(target=carry, args=ways))
                    threads[-1].start()

    ends: list[socket.socket] = []
    threads: list[threading.Thread] = []
    with socket.create_server(("127.0.0.1", int(at.rpartition(":")[2]))) as entry:
        threads.append(threading.Thread(target=accept))
        threads[0].start()
        yield
        for end in (entry, *ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
        for end in ends:
            end.close()


def reason(laptop: Machine, bus: Bus) -> str:
    """Why the link went down first."""
    event = laptop.until(lambda event: isinstance(event, LinkDown))
    assert isinstance(event, LinkDown)
    assert isinstance(event.reason, ProtocolError), event.reason
    return str(event.reason)


def test_a_message_of_the_server_that_never_ends(
    machines: tuple[Machine, Machine, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real socket sends it, and a relay keeps its end back; the pings' echoes have not come either."""
    server, laptop, at = machines
    monkeypatch.setattr(inbound_limit, "MAX_WAITING_BYTES", CUT // 2)
    port = free_port()
    with router(server, f"tcp://127.0.0.1:{port}") as remote, cut(at, port), laptop.bus() as bus:
        bus.dial(at, Hello(role="client"))
        route = remote.recv_multipart()[0]
        remote.send_multipart([route, *[bytes(100_000)] * (2 * CUT // 100_000)])
        assert "sends without end" in reason(laptop, bus)


def test_a_server_that_sends_too_many_messages(
    machines: tuple[Machine, Machine, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them is right, and small."""
    server, laptop, at = machines
    monkeypatch.setattr(inbound_limit, "BURST_FRAMES", 1_000)
    monkeypatch.setattr(inbound_limit, "FRAMES_PER_S", 1)
    with router(server, at) as remote, laptop.bus() as bus:
        bus.dial(at, Hello(role="client"))
        route = remote.recv_multipart()[0]
        for _ in range(1_000):
            remote.send_multipart([route, *encode(Pong(sent_s=0.0))])
        assert "floods" in reason(laptop, bus)
