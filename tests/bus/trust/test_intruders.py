"""What an allowed machine with ill will, or a stranger on the network, tries: each time it gets nothing."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from queue import Empty

import pytest
import structlog
import zmq

from hocket_bus.errors import Untrusted
from hocket_bus.limits import shares
from hocket_bus.limits.malformed import MAX_MALFORMED
from hocket_bus.messages import Accepted, Cancel, Hello, Notice
from hocket_bus.sockets import LinkDown, Received
from hocket_bus.trust import zap
from hocket_bus.trust.keys import Keys, Peer
from hocket_bus.wire import decode, encode
from machines import AT, PORT, Machine, asks, dial, is_up, serve, tapped
from waiting import WAIT_S

NOTICE = Notice(request=bytes(16), seq=0, text="for one reader")


@pytest.fixture
def server(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "server")


@pytest.fixture
def alice(tmp_path: Path, server: Machine) -> Machine:
    return Machine(tmp_path / "alice").knows(server=Peer(server.own.public, AT))


@pytest.fixture
def mallory(tmp_path: Path, server: Machine, alice: Machine) -> Machine:
    mallory = Machine(tmp_path / "mallory").knows(server=Peer(server.own.public, AT))
    server.knows(alice=asks(alice), mallory=asks(mallory))
    return mallory


def test_a_topic_is_not_to_be_had_by_leaving_and_coming_back(server: Machine, alice: Machine, mallory: Machine) -> None:
    """Mallory is not served, hangs up, which takes her subscription back, and tries again; nor the parts of it."""
    topic, own = os.urandom(16), os.urandom(16)
    with server.bus() as there, alice.bus() as here:
        serving = serve(there)
        dial(here, topic)
        alice.until(is_up)
        for attempt in range(6):
            with mallory.raw(zmq.SUB, port=PORT + 1) as spy:
                for wanted in (b"", topic[:1], topic[:15], topic, topic + b"x", own):
                    spy.subscribe(wanted)
                assert spy.poll(WAIT_S * 1000), "her own topic is confirmed, behind all others"
                assert spy.recv_multipart()[0] == own
                serving.publish(topic, NOTICE)
                serving.publish(own, NOTICE)
                assert spy.poll(WAIT_S * 1000)
                assert spy.recv_multipart()[0] == own, attempt
                assert not spy.poll(50)
        assert sum(isinstance(alice.received(), Received) for _ in range(6)) == 6


def test_another_key_under_the_same_routing_id_gets_nothing(server: Machine, alice: Machine, mallory: Machine) -> None:
    """Replies go to Alice, and what Mallory sends is not taken for Alice's."""
    with server.bus() as there, alice.bus() as here:
        serving = serve(there)
        link = dial(here)
        alice.until(is_up)
        link.send(Cancel(request=bytes(16)))
        route = server.received().route
        with mallory.raw(zmq.DEALER, identity=route) as spy:
            for message in (Hello(role="client"), Cancel(request=b"m" * 16)):
                spy.send_multipart(encode(message))
            assert not spy.poll(500)
            serving.send(route, Accepted(request=bytes(16)))
            assert alice.received().message == Accepted(request=bytes(16))
            assert not spy.poll(200)
        link.send(Cancel(request=b"a" * 16))
        event = server.received()
        assert (event.user, event.message) == ("alice", Cancel(request=b"a" * 16))


@contextmanager
def resent(fragments: list[bytes]) -> Iterator[None]:
    """All that a client once said, said to the server again, piece by piece as then: it listens between them."""
    with socket.create_connection(("127.0.0.1", PORT)) as raw:
        raw.settimeout(0.1)
        for piece in fragments:
            with suppress(TimeoutError, ConnectionError):
                raw.sendall(piece)
                raw.recv(65_536)
        yield


def test_a_recorded_connection_says_nothing_a_second_time(server: Machine, alice: Machine, mallory: Machine) -> None:
    """The handshake and a request, sent again byte by byte; to a plain socket the same is one more request."""
    sent: list[bytes] = []
    with tapped([], sent) as port, server.bus() as there, alice.bus() as here:
        serve(there)
        alice.knows(server=Peer(server.own.public, f"tcp://127.0.0.1:{port}"))
        link = here.dial(f"tcp://127.0.0.1:{port}", Hello(role="client"))
        alice.until(is_up)
        link.send(Cancel(request=bytes(16)))
        assert server.received().user == "alice"
        with resent(list(sent)), pytest.raises(Empty):
            server.inbox.get(timeout=1.0)
    sent.clear()
    context = zmq.Context()
    with tapped([], sent) as port:
        plain, other = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
        plain.bind(AT)
        other.connect(f"tcp://127.0.0.1:{port}")
        other.send(b"a request")
        assert plain.poll(WAIT_S * 1000)
        first = plain.recv_multipart()
        with resent(list(sent)):
            arrived = plain.poll(WAIT_S * 1000)
            assert arrived
            again = plain.recv_multipart()
        context.destroy(0)
    assert first[1] == again[1] == b"a request"
    assert first[0] != again[0]


@pytest.mark.parametrize(
    "greeting",
    [b"", b"\xff", b"\xff" + bytes(8) + b"\x7f\x03\x00CURVE", b"GET / HTTP/1.1\r\n\r\n", b"\x01" * 64],
    ids=["silent", "one byte", "half a greeting", "a browser", "ones"],
)
def test_a_thousand_connections_that_never_greet_lock_nobody_out(
    server: Machine, alice: Machine, mallory: Machine, greeting: bytes
) -> None:
    """Half a handshake or nothing (CVE-2020-15166): they are given up after a while, and who may comes in."""
    with server.bus() as there, alice.bus() as here, ExitStack() as held:
        serve(there)
        for _ in range(1_000 if greeting == b"" else 100):
            raw = held.enter_context(socket.create_connection(("127.0.0.1", PORT)))
            raw.sendall(greeting)
        link = dial(here)
        alice.until(is_up)
        link.send(Cancel(request=bytes(16)))
        assert server.received().user == "alice"


@pytest.mark.parametrize("broken", [(Keys, "name_of"), pytest.param((zap, "answer"), marks=pytest.mark.long)])
def test_a_judge_that_fails_lets_nobody_in_and_lives_on(
    server: Machine, alice: Machine, mallory: Machine, broken: tuple[object, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error inside the authentication, or around it; when it is over, the link comes up by itself."""

    def fail(*_: object) -> None:
        raise RuntimeError("broken")

    with server.bus() as there, alice.bus() as here:
        serve(there)
        with monkeypatch.context() as patched:
            patched.setattr(*broken, fail)
            link = dial(here)
            alice.until(lambda event: isinstance(event, LinkDown))
            assert not link.up
        alice.until(is_up)
        link.send(Cancel(request=bytes(16)))
        assert server.received().user == "alice"


@pytest.mark.slow
def test_a_key_with_too_many_bad_messages_is_refused_for_a_while(
    server: Machine, alice: Machine, mallory: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line in the log; each of its connections is told once and ended, those of others go on; then it may again."""
    monkeypatch.setattr(shares, "REFUSED_S", 4.0)
    monkeypatch.setattr("hocket_bus.sockets.link.REFUSED_BACKOFF_S", 0.5)
    with (
        server.bus() as there,
        alice.bus() as here,
        mallory.bus() as elsewhere,
        structlog.testing.capture_logs() as log,
    ):
        serving = serve(there)
        dial(here)
        alice.until(is_up)
        other = dial(elsewhere)
        mallory.until(is_up)
        with alice.raw(zmq.DEALER) as poisoner:
            hung_up = poisoner.get_monitor_socket(zmq.EVENT_DISCONNECTED)
            for _ in range(MAX_MALFORMED + 20):
                poisoner.send(b"garbage")
            assert hung_up.poll(WAIT_S * 1000)
            told = [decode(poisoner.recv_multipart()).code for _ in range(MAX_MALFORMED + 1)]  # type: ignore[attr-defined]
            assert told == ["bad_message"] * MAX_MALFORMED + ["untrusted"]
            assert not poisoner.poll(0)
        down = alice.until(lambda event: isinstance(event, LinkDown))
        assert isinstance(down, LinkDown)
        assert isinstance(down.reason, Untrusted)
        assert "it is refused for" in str(down.reason)
        other.send(Cancel(request=bytes(16)))
        assert server.received().user == "mallory"
        alice.until(is_up)
        assert serving.bad_messages.count == MAX_MALFORMED
    assert [line["user"] for line in log if line["event"] == "refused for bad messages"] == ["alice"]
    assert len(log) < 30
