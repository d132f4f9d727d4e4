"""Where a daemon is: by name, whatever its resolver does; by IPv6; and so far away that a handshake takes seconds."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from hocket_bus.messages import Hello, Welcome
from hocket_bus.sockets import Bus, Event, Greeted, LinkDown, LinkUp, link, resolver
from hocket_lab.link import Conditions, start
from hocket_tools.pair.loopback import trust_self
from ports import free_port
from waiting import WAIT_S

PORT = free_port(6)  # a daemon takes two neighbouring ones
NAMED, REMOTE = f"tcp://cloud.example:{PORT}", f"tcp://127.0.0.1:{PORT + 4}"


def welcome(_: Hello) -> Welcome:
    return Welcome(role="cloud", epoch=1)


def resolve_by(monkeypatch: pytest.MonkeyPatch, resolver: Callable[[], list[str]]) -> None:
    def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        assert host == "cloud.example"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in resolver()]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resolver is given less time, and the next attempt made sooner."""
    monkeypatch.setattr(resolver, "LOOKUP_S", 0.3)
    monkeypatch.setattr(link, "REFUSED_BACKOFF_S", 0.3)


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Path]:
    """A server at PORT, and the folder of the keys that know it by all the addresses used here."""
    keys = trust_self(tmp_path / "keys", f"tcp://127.0.0.1:{PORT}", NAMED, REMOTE)
    with Bus(lambda _: None, keys) as bus:
        bus.serve(f"tcp://127.0.0.1:{PORT}", welcome)
        yield keys


def test_a_resolver_that_hangs_stops_nothing_else(
    tmp_path: Path, serving: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it hangs, the same bus serves a local client; its link says why it is down, and comes up after all."""
    hurry(monkeypatch)
    hangs = threading.Event()

    def resolver() -> list[str]:
        assert hangs.wait(WAIT_S)
        return ["127.0.0.1"]

    resolve_by(monkeypatch, resolver)
    inbox: SimpleQueue[Event] = SimpleQueue()
    local: SimpleQueue[Event] = SimpleQueue()
    with Bus(inbox.put, serving) as bus, Bus(local.put) as client:
        bus.serve(f"ipc://{tmp_path}/x", welcome)
        bus.dial(NAMED, Hello(role="device"))
        client.dial(f"ipc://{tmp_path}/x", Hello(role="client"))
        assert isinstance(local.get(timeout=WAIT_S), LinkUp)
        while isinstance(down := inbox.get(timeout=WAIT_S), Greeted):
            pass
        assert isinstance(down, LinkDown)
        assert "the name cloud.example was not resolved in time: check this machine's DNS" in str(down.reason)
        hangs.set()
        while not isinstance(inbox.get(timeout=WAIT_S), LinkUp):
            pass


def test_a_name_is_looked_up_again_and_each_of_its_addresses_tried(
    serving: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First the resolver knows nothing, then an address at which nobody listens stands before the right one."""
    hurry(monkeypatch)
    answers = iter([[], ["127.0.0.77", "127.0.0.1"]])
    last: list[str] = []

    def resolver() -> list[str]:
        last[:] = next(answers, last)
        if not last:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return last

    resolve_by(monkeypatch, resolver)
    inbox: SimpleQueue[Event] = SimpleQueue()
    with Bus(inbox.put, serving) as bus:
        bus.dial(NAMED, Hello(role="device"))
        down = inbox.get(timeout=WAIT_S)
        assert isinstance(down, LinkDown)
        assert "the name cloud.example has no address: Name or service not known" in str(down.reason)
        while not isinstance(inbox.get(timeout=WAIT_S), LinkUp):
            pass


def test_ipv6(tmp_path: Path) -> None:
    if not socket.has_ipv6:
        pytest.skip("this Python has no IPv6")
    try:
        with socket.socket(socket.AF_INET6) as found:
            found.bind(("::1", 0))
    except OSError as error:
        pytest.skip(f"this machine has no IPv6: {error}")
    endpoint = f"tcp://[::1]:{PORT + 2}"
    keys = trust_self(tmp_path, endpoint)
    inbox: SimpleQueue[Event] = SimpleQueue()
    with Bus(lambda _: None, keys) as bus, Bus(inbox.put, keys) as dialing:
        bus.serve(endpoint, welcome)
        dialing.dial(endpoint, Hello(role="device"), bytes(16))
        assert isinstance(inbox.get(timeout=WAIT_S), LinkUp)


@pytest.mark.slow
def test_a_handshake_may_take_longer_than_a_live_link_may_be_silent(serving: Path) -> None:
    """Five round trips of 0.8 s: later attempts get more time."""
    remote = Conditions.symmetric(rtt_s=0.8)
    inbox: SimpleQueue[Event] = SimpleQueue()
    with start(REMOTE.removeprefix("tcp://"), f"127.0.0.1:{PORT}", remote), Bus(inbox.put, serving) as bus:
        dialed = bus.dial(REMOTE, Hello(role="device"))
        while not isinstance(inbox.get(timeout=WAIT_S), LinkUp):
            pass
        assert dialed.rtt_s >= 0.8
