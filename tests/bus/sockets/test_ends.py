"""Who greeted a server and who has gone: told in turn for each end, by a bounded table and by a server."""

from __future__ import annotations

import random
import time
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest
import zmq

from hocket_bus.ends import GONE_AFTER_S, Change, Ends
from hocket_bus.messages import Cancel, Error, Hello, Ping, Welcome
from hocket_bus.sockets import PING_S, Bus, Event, Gone, Greeted, Received, server
from hocket_bus.trust.keys import SELF, Peer
from hocket_bus.wire import encode
from machines import AT, Machine, dial, is_up, serve
from waiting import WAIT_S, until

HELLO, OTHER = Hello(role="device", name="kitchen"), Hello(role="device", name="cellar")


def here(route: bytes = b"a", hello: Hello = HELLO, user: str = "") -> Change:
    return Change(here=True, route=route, hello=hello, user=user)


def gone(route: bytes = b"a", hello: Hello = HELLO, user: str = "") -> Change:
    return Change(here=False, route=route, hello=hello, user=user)


def greeted(ends: Ends, route: bytes = b"a", hello: Hello = HELLO, user: str = "", now_s: float = 0.0) -> list[Change]:
    return ends.receive(route, user, now_s) + ends.greet(route, hello)


def test_an_end_goes_once_when_it_has_been_silent_for_longer_than_the_limit() -> None:
    """Whatever it says puts that off; who never greeted is not told of."""
    ends = Ends()
    assert greeted(ends) == [here()]
    assert ends.receive(b"mute", "", 0.0) == []
    assert ends.receive(b"a", "", 5.0) == []
    assert list(ends.leave(5.0 + GONE_AFTER_S)) == []
    assert list(ends.leave(5.1 + GONE_AFTER_S)) == [gone()]
    assert list(ends.leave(1e6)) == []


def test_an_end_that_speaks_again_is_here_again() -> None:
    """Without another Hello, as its connection may have stood all the time."""
    ends = Ends()
    greeted(ends)
    assert list(ends.leave(11.0)) == [gone()]
    assert ends.receive(b"a", "", 60.0) == [here()]
    assert list(ends.leave(71.0)) == [gone()]


def test_the_same_hello_again_changes_nothing_and_another_one_replaces_the_end() -> None:
    """A link repeats its Hello until it is answered."""
    ends = Ends()
    assert greeted(ends) == [here()]
    assert greeted(ends) == []
    assert greeted(ends, hello=OTHER) == [gone(), here(hello=OTHER)]


def test_a_route_that_another_user_has_now_is_another_end() -> None:
    """What the newcomer says keeps nobody else here, and tells nothing of who was there before."""
    ends = Ends()
    greeted(ends, user="alice")
    ends.report_rtt(b"a", 0.02)
    assert ends.receive(b"a", "eve", 1.0) == [gone(user="alice")]
    assert ends.rtt_s(b"a") == 0.0
    assert ends.greet(b"a", OTHER) == [here(hello=OTHER, user="eve")]


def test_two_routes_with_one_hello_are_two_ends() -> None:
    """A device that connects anew is here twice, until its former connection has been silent for long enough."""
    ends = Ends()
    assert greeted(ends, b"a") == [here(b"a")]
    assert greeted(ends, b"b", now_s=9.0) == [here(b"b")]
    assert list(ends.leave(11.0)) == [gone(b"a")]


def test_of_too_many_ends_the_one_silent_for_longest_goes() -> None:
    """It is told to have gone, unless it had; what is kept of the others is right."""
    ends = Ends(max_ends=3)
    for number in range(3):
        greeted(ends, bytes([number]), now_s=float(number))
    ends.report_rtt(b"\x02", 0.5)
    ends.receive(b"\0", "", 3.0)
    assert greeted(ends, b"new", now_s=4.0) == [gone(b"\x01"), here(b"new")]
    assert (ends.received_s(b"\0"), ends.received_s(b"\x01"), ends.rtt_s(b"\x02")) == (3.0, 0.0, 0.5)
    assert [change.route for change in ends.leave(100.0)] == [b"\x02", b"\0", b"new"]
    assert greeted(ends, b"newer", now_s=101.0) == [here(b"newer")]


def test_a_reader_that_fails_at_one_change_is_told_the_others_later() -> None:
    """Each end goes when its change is taken."""
    ends = Ends()
    for number in range(3):
        greeted(ends, bytes([number]))
    assert next(ends.leave(11.0)) == gone(b"\0")
    assert list(ends.leave(11.0)) == [gone(b"\x01"), gone(b"\x02")]


@pytest.mark.parametrize("seed", range(5))
def test_whatever_happens_here_and_gone_take_turns(seed: int) -> None:
    """For each end, beginning with here; and in the end all have gone."""
    rng, ends, now_s = random.Random(seed), Ends(max_ends=6), 0.0
    present: set[tuple[bytes, str]] = set()

    def check(changes: list[Change]) -> None:
        for change in changes:
            end = (change.route, change.user)
            assert change.here is (end not in present)
            present.symmetric_difference_update({end})
        assert len(present) <= 6

    for _ in range(3_000):
        now_s += rng.expovariate(2.0)
        route, user = bytes([rng.randrange(10)]), rng.choice(["", "alice", "eve"])
        check(ends.receive(route, user, now_s))
        if rng.random() < 0.3:
            check(ends.greet(route, rng.choice([HELLO, OTHER])))
        check(list(ends.leave(now_s)))
    check(list(ends.leave(now_s + 1e3)))
    assert not present


def test_a_server_tells_who_greeted_and_once_that_it_has_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By role, user and name, while the link is pinging and after it has closed."""
    monkeypatch.setattr(server, "GONE_AFTER_S", 6 * PING_S)
    there, here = Machine(tmp_path / "there"), Machine(tmp_path / "here")
    there.knows(kitchen=Peer(here.own.public))
    here.knows(there=Peer(there.own.public, AT))
    with there.bus() as serving:
        port = serve(serving)
        with here.bus() as dialing:
            dialing.dial(AT, HELLO)
            here.until(is_up)
            came = there.inbox.get(timeout=WAIT_S)
            assert isinstance(came, Greeted)
            assert (came.port, came.hello, came.user) == (port, HELLO, "kitchen")
            until(lambda: port.rtt_s(came.route) > 0)
            with pytest.raises(Empty):
                there.inbox.get(timeout=9 * PING_S)
        assert there.inbox.get(timeout=WAIT_S) == Gone(port, came.route, HELLO, "kitchen")
        with here.bus() as dialing:
            dial(dialing)
            again = there.inbox.get(timeout=WAIT_S)
        assert isinstance(again, Greeted)
        assert again.route != came.route


def test_a_server_that_stood_still_lets_nobody_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time in which nothing could be read is not silence: what came meanwhile is read first."""
    monkeypatch.setattr(server, "GONE_AFTER_S", 1.0)
    monkeypatch.setattr("hocket_bus.sockets.link.LIVENESS_S", WAIT_S)  # nor does the link
    seen: list[Event] = []
    with Bus(seen.append, own_thread=False) as turned, Bus(lambda _: None) as dialing:
        turned.serve(f"ipc://{tmp_path}/x", lambda _: Welcome(role="device", epoch=1))
        link = dialing.dial(f"ipc://{tmp_path}/x", HELLO)
        deadline_s = time.monotonic() + WAIT_S
        while not link.up and time.monotonic() < deadline_s:
            turned.step(time.monotonic() + 0.05)
        time.sleep(1.5)
        for _ in range(20):
            turned.step(time.monotonic())
        assert [type(event) for event in seen] == [Greeted]


def test_who_is_refused_or_is_the_daemon_itself_has_not_greeted(tmp_path: Path) -> None:
    """On ipc too, where no key tells them apart."""
    seen: SimpleQueue[Event] = SimpleQueue()
    answered: SimpleQueue[bool] = SimpleQueue()

    def greet(hello: Hello) -> Welcome | Error:
        return Error(code="protocol", text="?") if hello == OTHER else Welcome(role="device", epoch=1)

    with Bus(seen.put) as serving, zmq.Context() as context:
        port = serving.serve(f"ipc://{tmp_path}/x", greet)
        serving.probe(port, 0.05, lambda: answered.put(True))
        for _ in range(3):
            assert answered.get(timeout=WAIT_S)
        with context.socket(zmq.DEALER) as raw:
            raw.connect(f"ipc://{tmp_path}/x")
            for message in (OTHER, Ping(sent_s=0.0), Hello(role="client", name=SELF), Cancel(request=bytes(16))):
                raw.send_multipart(encode(message))
            first = seen.get(timeout=WAIT_S)
            assert isinstance(first, Received)
            assert first.message == Cancel(request=bytes(16))
            raw.send_multipart(encode(HELLO))
            second = seen.get(timeout=WAIT_S)
            assert isinstance(second, Greeted)
            assert (second.route, second.hello, second.user) == (first.route, HELLO, "")
