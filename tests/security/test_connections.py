"""Who connects over tcp, how often, and what of it waits: each key within its share, and no other key pays for it."""

from __future__ import annotations

import os
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
import structlog
import zmq
from curveclient import CurveClient, connected

from hocket_bus.limits import connections, shares
from hocket_bus.limits.connections import MAX_MUTE, MAX_UNHEARD, NO_ROOM, Connections
from hocket_bus.messages import Cancel, Hello, Message, Notice, Welcome
from hocket_bus.sockets import Bus, Received, Server
from hocket_bus.trust.keys import Keys, Peer
from hocket_bus.wire import decode, encode
from machines import AT, PORT, Machine, all_but_documents, dial, is_up, serve
from waiting import WAIT_S, until

HERE = ("127.0.0.1", PORT)


@pytest.fixture
def server(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "server")


@pytest.fixture
def alice(tmp_path: Path, server: Machine) -> Machine:
    return Machine(tmp_path / "alice").knows(server=Peer(server.own.public, AT))


@pytest.fixture
def mallory(tmp_path: Path, server: Machine, alice: Machine) -> Machine:
    mallory = Machine(tmp_path / "mallory").knows(server=Peer(server.own.public, AT))
    server.knows(alice=all_but_documents(alice), mallory=all_but_documents(mallory))
    return mallory


@contextmanager
def served(machine: Machine) -> Iterator[tuple[Bus, Server]]:
    with machine.bus() as bus:
        yield bus, serve(bus)


@contextmanager
def raw(machine: Machine, server: Machine, kind: bytes = b"DEALER", port: int = PORT) -> Iterator[CurveClient]:
    with connected(("127.0.0.1", port), Keys(machine.folder), server.own.public, kind) as client:
        yield client


def say(client: CurveClient, message: Message) -> None:
    frames = encode(message)
    client.raw.sendall(b"".join(client.message(frame, more=frame is not frames[-1]) for frame in frames))


def has_ended(client: CurveClient) -> bool:
    """Read what it was told up to the end of its connection."""
    client.raw.settimeout(WAIT_S)
    with suppress(ConnectionError):
        while True:
            client.read()
    return True


def waiting(bus: Bus) -> list[int]:
    """Bytes of each connection that came and were not taken, once they have been looked at anew."""
    limits = bus.sockets.limits
    looks = limits._look_s
    until(lambda: limits._look_s > looks)
    looks = limits._look_s
    until(lambda: limits._look_s > looks)
    return [connection.came - connection.taken for connection in limits._connections._all.values()]


def test_what_waits_is_counted_to_the_byte(
    server: Machine, alice: Machine, mallory: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frames of every length, encryption included: what remains is the handshake, however much was said."""
    monkeypatch.setattr("hocket_bus.limits.malformed.MAX_MALFORMED", 10**9)
    monkeypatch.setattr(shares, "BURST_BYTES", 10**9)
    with served(server) as (there, serving), alice.raw(zmq.DEALER) as dealer:
        for number in range(500):
            dealer.send_multipart([b"x" * number, b"", b"y" * (number * number)])
        until(lambda: serving.bad_messages.count == 500)
        (left,) = waiting(there)
        assert 0 < left < 1_000


def sends_until_ended(client: CurveClient) -> int:
    """How many bytes of one message it sends before its connection is ended, or 256 MiB."""
    sent = 0
    with suppress(OSError):
        while sent < 256 << 20:
            client.raw.sendall(client.message(bytes(10_000), more=True))
            sent += 10_000
    return sent


@pytest.mark.parametrize("named", [True, False], ids=["a greeted end", "a first message"])
def test_a_message_that_never_ends_ends_its_connection(
    server: Machine, alice: Machine, mallory: Machine, named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its frames are within every other bound. The key, where it is known, is refused; another one's end goes on."""
    monkeypatch.setattr(connections, "MAX_WAITING_BYTES", 1 << 20)
    with served(server), alice.bus() as here, raw(mallory, server) as attacker:
        link = dial(here)
        alice.until(is_up)
        if named:
            say(attacker, Cancel(request=b"m" * 16))
            assert server.received().user == "mallory"
        sent = sends_until_ended(attacker)
        assert 1 << 20 < sent < 256 << 20
        if named:
            with pytest.raises((ConnectionError, TimeoutError)), raw(mallory, server):
                pass
        link.send(Cancel(request=bytes(16)))
        assert server.received().user == "alice"
        assert alice.inbox.empty()


def test_connections_that_say_nothing_make_room(server: Machine, alice: Machine, mallory: Machine) -> None:
    """Of one address so many stay, the newest; an honest machine at the same address comes in."""
    with served(server), alice.bus() as here, ExitStack() as held:
        mute = [held.enter_context(socket.create_connection(HERE)) for _ in range(3 * MAX_MUTE)]
        for sock in mute[: 2 * MAX_MUTE]:
            sock.settimeout(WAIT_S)
            with suppress(ConnectionError):
                while sock.recv(100):
                    pass
        dial(here)
        assert is_up(alice.until(is_up))


def test_a_key_that_is_let_in_and_says_nothing_is_not_let_in_for_ever(
    server: Machine, alice: Machine, mallory: Machine
) -> None:
    """So many handshakes, and another one's key is let in meanwhile."""
    with served(server), alice.bus() as here:
        for _ in range(MAX_UNHEARD):
            with raw(mallory, server):
                pass
        with pytest.raises((ConnectionError, TimeoutError)), raw(mallory, server):
            pass
        dial(here)
        alice.until(is_up)


def test_a_key_has_so_many_connections(
    server: Machine, alice: Machine, mallory: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one too many is told and ended; those that it had go on, and another key has its own."""
    monkeypatch.setattr(connections, "MAX_OF_KEY", 3)
    with served(server), alice.bus() as here, ExitStack() as held:
        kept = [held.enter_context(raw(mallory, server)) for _ in range(3)]
        for client in kept:
            say(client, Cancel(request=bytes(16)))
            assert server.received().user == "mallory"
        with mallory.raw(zmq.DEALER) as surplus:
            hung_up = surplus.get_monitor_socket(zmq.EVENT_DISCONNECTED)
            surplus.send_multipart(encode(Hello(role="client")))
            assert surplus.poll(WAIT_S * 1000)
            assert "connections" in decode(surplus.recv_multipart()).text  # type: ignore[attr-defined]
            assert hung_up.poll(WAIT_S * 1000)
        for client in kept:
            say(client, Cancel(request=bytes(16)))
            assert server.received().user == "mallory"
        dial(here)
        alice.until(is_up)


def test_a_key_reads_so_many_topics(
    server: Machine, alice: Machine, mallory: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that it gave up do not count; the one too many ends the connection that asks. Others' streams go on."""
    topics = 32
    monkeypatch.setattr(connections, "MAX_TOPICS_OF_KEY", topics)
    with served(server) as (_, serving), alice.bus() as here, raw(mallory, server, b"SUB", PORT + 1) as reader:
        topic = os.urandom(16)
        link = dial(here, topic)
        alice.until(is_up)
        for _ in range(2 * topics):
            wanted = os.urandom(16)
            reader.raw.sendall(reader.message(b"\x01" + wanted, more=False))
            assert reader.read()
            reader.raw.sendall(reader.message(b"\x00" + wanted, more=False))
            for _ in range(2):
                assert reader.read(), "all of its three frames"
        for _ in range(topics + 1):
            reader.raw.sendall(reader.message(b"\x01" + os.urandom(16), more=False))
        assert has_ended(reader)
        serving.publish(topic, Notice(request=bytes(16), seq=0, text=""))
        assert alice.received().port is link


def test_a_key_that_subscribes_on_and_on_is_refused(
    server: Machine, alice: Machine, mallory: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few topics it reads at a time, and however often it comes again. Others' streams go on."""
    monkeypatch.setattr(shares, "SUBSCRIPTION_BYTES", shares.BURST_BYTES // 2)
    with served(server) as (_, serving), alice.bus() as here:
        topic = os.urandom(16)
        link = dial(here, topic)
        alice.until(is_up)
        for _ in range(8):
            with suppress(ConnectionError, TimeoutError), raw(mallory, server, b"SUB", PORT + 1) as reader:
                reader.raw.sendall(reader.message(b"\x01" + os.urandom(16), more=False))
                reader.read()
        with pytest.raises((ConnectionError, TimeoutError)), raw(mallory, server, b"SUB", PORT + 1):
            pass
        serving.publish(topic, Notice(request=bytes(16), seq=0, text=""))
        assert alice.received().port is link


def test_a_topic_has_no_megabyte(server: Machine, alice: Machine, mallory: Machine) -> None:
    """libzmq keeps every byte of a subscription 50-fold, whether it is accepted or not."""
    with served(server), raw(mallory, server, b"SUB", PORT + 1) as reader:
        with suppress(OSError):
            reader.raw.sendall(reader.message(b"\x01" + bytes(1_000), more=False))
        assert has_ended(reader)


@pytest.mark.parametrize(
    "size", [pytest.param(500_000, id="large", marks=pytest.mark.slow), pytest.param(0, id="small")]
)
def test_a_key_that_floods_is_told_refused_and_not_let_in(
    server: Machine, alice: Machine, mallory: Machine, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any of it is decoded; afterwards it may again, and another key's end has felt nothing."""
    monkeypatch.setattr(shares, "REFUSED_S", 3.0)
    monkeypatch.setattr(shares, "BURST_BYTES", 1 << 20)
    monkeypatch.setattr(shares, "RATE_BYTES", 1)
    with served(server) as (_, serving), alice.bus() as here, mallory.raw(zmq.DEALER) as flooder:
        link = dial(here)
        alice.until(is_up)
        hung_up = flooder.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        for _ in range(10 if size else 2_000):
            flooder.send_multipart([*encode(Cancel(request=bytes(16))), *[bytes(size)] * (size > 0)])
        assert hung_up.poll(WAIT_S * 1000)
        told = []
        while flooder.poll(0):
            told.append(decode(flooder.recv_multipart()).code)  # type: ignore[attr-defined]
        assert told == ["bad_message"] * (2 if size else 0) + ["busy", "untrusted"]
        assert serving.bad_messages.count == (2 if size else 0)
        with pytest.raises((ConnectionError, TimeoutError)), raw(mallory, server):
            pass
        link.send(Cancel(request=bytes(16)))
        server.until(lambda event: isinstance(event, Received) and event.user == "alice")
        began_s = time.monotonic()
        until(lambda: time.monotonic() - began_s > 3.5)
        with raw(mallory, server):
            pass


def test_an_end_without_room_takes_the_place_of_one_that_says_nothing() -> None:
    """Never that of one that has spoken; of the mute ones, of the address that has the most, the oldest."""
    all_ = Connections(room=4)
    ends = ((("here", 1), ("there", 2)),) * 10
    assert not list(all_.begin(0, ends[0], "a", 0.0))
    assert all_.take(0, "alice", 10) is not None
    for number, address in ((1, "b"), (2, "m"), (3, "m")):
        assert not list(all_.begin(number, ends[number], address, float(number)))
    (leaving,) = all_.begin(4, ends[4], "c", 4.0)
    assert (leaving[0].number, leaving[1]) == (2, NO_ROOM)
    for number in (3, 1, 4):
        all_.take(number, "bob", 10)
    all_.end(2)
    (leaving,) = all_.begin(5, ends[5], "d", 5.0)
    assert leaving[0].number == 5, "itself, where all others have spoken"


def test_a_daemon_without_descriptors_goes_on_and_looks_again(tmp_path: Path) -> None:
    """A look at itself that cannot be made is logged and tried again; no turn of the loop fails by it."""
    answered: list[float] = []
    with Bus(lambda _: None, own_thread=False) as bus, structlog.testing.capture_logs() as logged:
        server = bus.serve(f"ipc://{tmp_path}/x", lambda _: Welcome(role="cloud", epoch=1))
        bus.probe(server, 60.0, lambda: answered.append(time.monotonic()))
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        lowest = os.dup(0)
        os.close(lowest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
        try:
            for _ in range(5):
                bus.step(time.monotonic() + 0.01)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert [line["event"] for line in logged] == ["this daemon cannot look at itself"]
        deadline = time.monotonic() + WAIT_S
        while not answered and time.monotonic() < deadline:
            bus.step(time.monotonic() + 0.1)
        assert answered
