"""A daemon as a service: what the service manager hears, and on what it depends."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest

from hocket_bus.deadline import Deadline
from hocket_bus.messages import Cancel, Hello, Welcome
from hocket_bus.notify import notify, watchdog_s
from hocket_bus.service import Service
from hocket_bus.sockets import Bus, Event, Greeted, Link, LinkUp, Received, new_key_pair
from hocket_bus.trust import zap
from hocket_bus.trust.keys import Peer, write_own, write_peers
from manager import Manager, manager
from ports import free_port
from waiting import WAIT_S

AT = f"tcp://127.0.0.1:{free_port()}"


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Manager]:
    monkeypatch.setenv("NOTIFY_SOCKET", f"{tmp_path}/notify")
    with manager(f"{tmp_path}/notify") as listening:
        yield listening


class Loop:
    """A daemon that is a main loop and a server at `endpoint`."""

    def __init__(self, endpoint: str, keys: Path | None = None) -> None:
        self.inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.events: SimpleQueue[Event] = SimpleQueue()
        self.bus = Bus(self.events.put, keys)
        self.server = self.bus.serve(endpoint, lambda _: Welcome(role="cloud", epoch=1))
        self.service = Service(self.bus, self.server, self.inbox.put)

    def step(self) -> None:
        self.inbox.get(timeout=WAIT_S)()

    def signs_until_silence(self) -> int:
        """How many signs of life come before there is none for twenty times the time between two."""
        for count in range(1000):
            try:
                self.inbox.get(timeout=2.0)()
            except Empty:
                return count
        return 1000


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """The keys of a machine that knows nobody."""
    write_own(tmp_path / "keys", new_key_pair())
    return tmp_path / "keys"


@pytest.mark.parametrize("abstract", [False, True])
def test_news_are_lines_in_one_datagram(abstract: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a path and at an abstract name."""
    address = f"@hocket-test-{os.getpid()}" if abstract else f"{tmp_path}/notify"
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    with manager(address) as listening:
        notify(READY=1, STATUS="two words")
        assert listening.heard() == {"READY": "1", "STATUS": "two words"}


def test_without_a_manager_nothing_happens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable, and a socket that is not there, which is not made either."""
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    notify(READY=1)
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    notify(READY=1)
    assert list(tmp_path.iterdir()) == []


def test_a_manager_that_does_not_read_stops_nobody(systemd: Manager) -> None:
    """The kernel's queue is full; the daemon gives up what it wanted to say."""
    systemd.fill()
    started_s = time.monotonic()
    notify(WATCHDOG=1)
    assert time.monotonic() - started_s < WAIT_S
    assert systemd.heard() == {"FULL": "1"}


@pytest.mark.parametrize(
    ("usec", "pid", "seconds"),
    [("30000000", "", 30.0), ("30000000", str(os.getpid()), 30.0), ("30000000", "1", None), ("", "", None)],
    ids=["any", "own", "another's", "none"],
)
def test_the_watchdog_is_the_one_this_process_was_given(
    monkeypatch: pytest.MonkeyPatch, usec: str, pid: str, seconds: float | None
) -> None:
    """Another process's is none of ours."""
    monkeypatch.setenv("WATCHDOG_USEC", usec)
    monkeypatch.setenv("WATCHDOG_PID", pid)
    assert watchdog_s() == (seconds or float("inf"))


def test_ready_after_its_own_answer_then_alive(systemd: Manager, monkeypatch: pytest.MonkeyPatch, keys: Path) -> None:
    """Over tcp with a key that nobody allowed; nothing is told before the main loop takes note."""
    monkeypatch.setenv("WATCHDOG_USEC", "300000")
    loop = Loop(AT, keys)
    with loop.bus:
        loop.service.watch()
        with pytest.raises(TimeoutError):
            systemd.heard(1.0)
        loop.step()
        assert systemd.heard()["READY"] == "1"
        for _ in range(3):
            assert systemd.heard() == {"WATCHDOG": "1"}
            loop.step()


@pytest.mark.parametrize("broken", ["judge", "io"])
def test_no_sign_of_life_when_a_part_is_dead(
    broken: str, systemd: Manager, monkeypatch: pytest.MonkeyPatch, keys: Path
) -> None:
    """The authentication refuses everybody, or the I/O thread hangs: the main loop alone gives no sign."""
    monkeypatch.setenv("WATCHDOG_USEC", "300000")
    loop = Loop(AT, keys)
    with loop.bus:
        loop.service.watch()
        loop.step()
        systemd.until("READY")
        if broken == "judge":
            monkeypatch.setattr(zap, "answer", lambda frames, _: [b"1.0", frames[1], b"300", b"later", b"", b""])
        else:
            loop.bus.post(lambda: time.sleep(3))
        assert loop.signs_until_silence() < 20


def test_a_machine_may_greet_itself_and_no_more(keys: Path, tmp_path: Path) -> None:
    """With its own key, which nobody allowed, it gets an answer to Hello and no request through."""
    loop = Loop(AT, keys)
    twin, inbox = tmp_path / "twin", SimpleQueue[Event]()
    with loop.bus:
        assert loop.bus.sockets.keys is not None
        own = loop.bus.sockets.keys.own
        write_own(twin, own)
        write_peers(twin, {"server": Peer(own.public, AT)})
        for allowed in (False, True):
            if allowed:
                write_peers(keys, {"twin": Peer(own.public, may=frozenset({"ask"}))})
                loop.bus.reload_keys()
            with Bus(inbox.put, twin) as bus:
                link = bus.dial(AT, Hello(role="client"))
                assert isinstance(inbox.get(timeout=WAIT_S), LinkUp)
                link.send(Cancel(request=(b"%d" % allowed) * 16))
                _wait_for_echoes(link)
                assert inbox.empty() == allowed, "it is told that it may not"
                while not inbox.empty():
                    inbox.get()
    greeted, event = loop.events.get(timeout=WAIT_S), loop.events.get(timeout=WAIT_S)
    assert isinstance(greeted, Greeted)
    assert greeted.user == "twin", "and not what it said before it was allowed"
    assert isinstance(event, Received)
    assert (event.message, event.user) == (Cancel(request=b"1" * 16), "twin")


def _wait_for_echoes(link: Link) -> None:
    """Two more: what was sent before the second has been dealt with."""
    count, deadline = link.round_trip.count, Deadline.after(WAIT_S)
    while link.round_trip.count < count + 2:
        assert not deadline.passed
        time.sleep(0.02)
