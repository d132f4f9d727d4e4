"""Over tcp nobody speaks to whom it does not know, and every failure is one typed line with its remedy."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import zmq

from hocket_bus.errors import BadConfiguration, Unavailable, Untrusted
from hocket_bus.messages import Cancel, Hello, Notice
from hocket_bus.sockets import Bus, Greeted, LinkDown, LinkUp, Received, new_key_pair
from hocket_bus.sockets.greeting import SIGNATURE
from hocket_bus.trust import keys, zap
from hocket_bus.trust.keys import Peer, write_own
from hocket_client import Client
from machines import AT, PORT, Machine, asks, dial, is_up, serve, tapped
from waiting import WAIT_S

NOTICE = Notice(request=bytes(16), seq=0, text="for one reader")


@pytest.fixture
def server(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "server")


@pytest.fixture
def laptop(tmp_path: Path, server: Machine) -> Machine:
    return Machine(tmp_path / "laptop").knows(server=Peer(server.own.public, AT))


@pytest.fixture(autouse=True)
def _soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """An end that was refused comes again after a moment."""
    monkeypatch.setattr("hocket_bus.sockets.link.REFUSED_BACKOFF_S", 0.5)


def reason(machine: Machine) -> str:
    """Why it is not trusted; on a busy machine silence may be noticed first."""
    event = machine.until(lambda event: isinstance(event, LinkDown) and isinstance(event.reason, Untrusted))
    assert isinstance(event, LinkDown)
    return str(event.reason)


def test_each_message_names_its_sender(server: Machine, laptop: Machine) -> None:
    """The name is the server's own for that key; nothing in the message decides it."""
    server.knows(bob=asks(laptop))
    with server.bus() as there, laptop.bus() as here:
        serve(there)
        link = dial(here)
        laptop.until(is_up)
        link.send(Cancel(request=bytes(16)))
        event = server.until(lambda event: isinstance(event, Received))
        assert isinstance(event, Received)
        assert event.user == "bob"


def test_a_key_allowed_later_needs_no_restart(server: Machine, laptop: Machine) -> None:
    """Before, the error names the command for the other machine; afterwards the link comes up by itself."""
    with server.bus() as there, laptop.bus() as here:
        serve(there)
        dial(here)
        assert f"hocket keys allow NAME '{laptop.own.public}'" in reason(laptop)
        server.knows(bob=asks(laptop))
        there.reload_keys()
        laptop.until(is_up)


def test_a_server_with_another_key_is_not_talked_to(server: Machine, laptop: Machine) -> None:
    """Whoever took over the address learns nothing, and the reader is told to compare fingerprints."""
    server.knows(bob=asks(laptop))
    laptop.knows(server=Peer(new_key_pair().public, AT))
    with server.bus() as there, laptop.bus() as here:
        serve(there)
        dial(here)
        assert "compare the fingerprints" in reason(laptop)


def test_an_end_without_encryption_is_not_talked_to(laptop: Machine) -> None:
    """A plain ZeroMQ socket at the address."""
    with zmq.Context() as context, context.socket(zmq.ROUTER) as plain, laptop.bus() as here:
        plain.linger = 0
        plain.bind(AT)
        dial(here)
        assert "does not use encryption" in reason(laptop)


@contextmanager
def hanging_up(greeting: bytes) -> Iterator[None]:
    """At the address, one that hangs up on every handshake and gives `greeting` to who asks for that alone."""

    def answer(visitor: socket.socket) -> None:
        with visitor, suppress(OSError):
            visitor.settimeout(0.2)  # libzmq sends its signature and waits; who asks for the greeting sends more
            asked = visitor.recv(64)
            if asked == SIGNATURE and greeting:
                visitor.sendall(greeting)
                visitor.recv(64)

    def serve_all() -> None:
        with suppress(OSError):
            while True:
                answer(listener.accept()[0])

    with socket.create_server(("127.0.0.1", PORT)) as listener:
        thread = threading.Thread(target=serve_all)
        thread.start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize(
    ("mechanism", "says"), [(b"NULL", "does not use encryption"), (b"CURVE", "compare the fingerprints")]
)
def test_why_an_end_hangs_up_is_asked_for(laptop: Machine, mechanism: bytes, says: str) -> None:
    """It looks the same in the handshake, whether the other end has another key or does not encrypt."""
    with hanging_up(SIGNATURE + mechanism.ljust(52, b"\0")), laptop.bus() as here:
        dial(here)
        assert says in reason(laptop)


def test_an_end_that_only_hangs_up_is_not_judged(laptop: Machine) -> None:
    """A daemon that is ending does so, and it is none of the two."""
    with hanging_up(b""), laptop.bus() as here:
        dial(here)
        event = laptop.until(lambda event: isinstance(event, LinkDown))
        assert isinstance(event, LinkDown)
        assert isinstance(event.reason, Unavailable)


def test_an_authentication_that_does_not_answer_is_not_waited_for(
    server: Machine, laptop: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fourth line: not now, and what to do there."""
    monkeypatch.setattr(zap, "answer", lambda frames, _: [b"1.0", frames[1], b"300", b"later", b"", b""])
    with server.bus() as there, laptop.bus() as here:
        serve(there)
        dial(here)
        event = laptop.until(lambda event: isinstance(event, LinkDown) and "authentication" in str(event.reason))
        assert isinstance(event, LinkDown)
        assert isinstance(event.reason, Unavailable)


@pytest.mark.parametrize("what", ["plain", "raw"])
def test_who_does_not_encrypt_gets_nothing(server: Machine, what: str) -> None:
    """Neither plain ZeroMQ nor bytes of no protocol reach the daemon, and it serves on."""
    server.knows(me=Peer(server.own.public, AT, frozenset({"ask"})), at=Peer(server.own.public, AT))
    with server.bus() as there:
        serve(there)
        if what == "plain":
            context = zmq.Context()
            spy = context.socket(zmq.DEALER)
            spy.connect(AT)
            spy.send_multipart([b"hello", b""])
            assert spy.poll(500) == 0
            context.destroy(0)
        else:
            for _ in range(50):
                with socket.create_connection(("127.0.0.1", PORT)) as raw:
                    raw.sendall(os.urandom(200))
        with Bus(server.inbox.put, server.folder) as here:
            dial(here)
            assert {type(server.inbox.get(timeout=WAIT_S)) for _ in range(2)} == {Greeted, LinkUp}


def test_a_topic_belongs_to_its_first_reader(tmp_path: Path, server: Machine, laptop: Machine) -> None:
    """Another allowed machine that learns of it is not served; the reader's own second connection is."""
    mallory = Machine(tmp_path / "mallory").knows(server=Peer(server.own.public, AT))
    server.knows(bob=asks(laptop), mallory=asks(mallory))
    topic = os.urandom(16)
    with server.bus() as there, laptop.bus() as here, mallory.bus() as elsewhere:
        serving = serve(there)
        dial(here, topic)
        laptop.until(is_up)
        dial(elsewhere, topic)
        dial(here, topic)
        laptop.until(is_up)
        serving.publish(topic, NOTICE)
        for _ in range(2):
            laptop.until(lambda event: isinstance(event, Received))
        heard = [mallory.inbox.get() for _ in range(mallory.inbox.qsize())]
        assert not [event for event in heard if not isinstance(event, LinkDown)], "it may have been given up by now"


def test_a_revoked_key_gets_no_more(server: Machine, laptop: Machine) -> None:
    """Though still connected: after the reload neither its messages nor its streams pass, and it is told at once."""
    server.knows(bob=asks(laptop))
    topic = os.urandom(16)
    with server.bus() as there, laptop.bus() as here:
        serving = serve(there)
        link = dial(here, topic)
        laptop.until(is_up)
        server.knows()
        there.reload_keys()
        serving.publish(topic, NOTICE)
        link.send(Cancel(request=bytes(16)))
        for said in ("no longer allowed", "does not allow"):  # by the connection that stood, and by a new one
            down = laptop.inbox.get(timeout=WAIT_S)
            assert isinstance(down, LinkDown)
            assert isinstance(down.reason, Untrusted)
            assert said in str(down.reason)
        assert isinstance(server.inbox.get(timeout=WAIT_S), Greeted)
        assert server.inbox.empty()


def test_a_server_that_is_forgotten_here_is_a_reason_and_no_end_of_the_bus(server: Machine, laptop: Machine) -> None:
    """The connection that breaks afterwards stays down, and comes back once its key is known again."""
    server.knows(bob=asks(laptop))
    with laptop.bus() as here:
        with server.bus() as there:
            serve(there)
            dial(here)
            laptop.until(is_up)
            laptop.knows()
            here.reload_keys()
        laptop.until(lambda event: isinstance(event, LinkDown) and isinstance(event.reason, BadConfiguration))
        laptop.knows(server=Peer(server.own.public, AT))
        here.reload_keys()
        with server.bus() as there:
            serve(there)
            assert is_up(laptop.until(is_up))


def test_an_eavesdropper_reads_nothing(server: Machine, laptop: Machine) -> None:
    """A word of the greeting is not on the wire; on a plain socket the same tap sees it."""
    server.knows(bob=asks(laptop))
    seen: list[bytes] = []
    with tapped(seen) as port, server.bus() as there, laptop.bus() as here:
        serve(there)
        laptop.knows(server=Peer(server.own.public, f"tcp://127.0.0.1:{port}"))
        here.dial(f"tcp://127.0.0.1:{port}", Hello(role="client", tokenizer="secret-word"))
        laptop.until(is_up)
    assert seen
    assert b"secret-word" not in b"".join(seen)
    seen.clear()
    context = zmq.Context()
    with tapped(seen) as port:
        plain, other = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
        plain.bind(AT)
        other.connect(f"tcp://127.0.0.1:{port}")
        other.send(b"secret-word")
        arrived = plain.poll(int(WAIT_S * 1000))
        context.destroy(0)
    assert arrived
    assert b"secret-word" in b"".join(seen)


def test_tcp_without_keys_is_one_clear_line(tmp_path: Path) -> None:
    """For a daemon that would listen, and for a client that would connect."""
    with Bus(lambda _: None, tmp_path) as bus, pytest.raises(BadConfiguration, match="hocket keys new"):
        serve(bus)
    with pytest.raises(BadConfiguration, match="hocket keys new"):
        Client(AT, keys=tmp_path)
    write_own(tmp_path, new_key_pair())
    with pytest.raises(BadConfiguration, match="hocket keys allow NAME KEY --at"):
        Client(AT, keys=tmp_path)


def test_a_refused_client_says_why_at_once(server: Machine, laptop: Machine) -> None:
    """It does not wait for its deadline to report what it knows."""
    with server.bus() as there:
        serve(there)
        with pytest.raises(Untrusted, match=keys.fingerprint(laptop.own.public)):
            Client(AT, connect_s=WAIT_S, keys=laptop.folder)
