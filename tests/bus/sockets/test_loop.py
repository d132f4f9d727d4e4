"""A bus whose loop the caller turns: the same events, in the caller's own thread."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest

from hocket_bus.messages import Credit, Hello, Welcome
from hocket_bus.sockets import Bus, Event, LinkDown, LinkUp, Received
from waiting import WAIT_S


def welcome(_: Hello) -> Welcome:
    return Welcome(role="device", epoch=1)


def credit(number: int) -> Credit:
    return Credit(request=bytes(16), topic=bytes(16), seq=number)


def test_events_commands_and_answers_all_run_in_the_thread_that_turns_the_loop(tmp_path: Path) -> None:
    """A hundred messages each way between a turned loop and one with its own thread, in order, and no other thread."""
    endpoint, threads, heard = f"ipc://{tmp_path}/x", set(), []
    answers: list[int] = []
    done = threading.Event()

    def on_served(event: Event) -> None:
        threads.add(threading.get_ident())
        if isinstance(event, Received) and isinstance(event.message, Credit):
            heard.append(event.message.seq)
            server.send(event.route, event.message)

    def on_dialed(event: Event) -> None:
        if isinstance(event, LinkUp):
            for number in range(100):
                link.send(credit(number))
        elif isinstance(event, Received) and isinstance(event.message, Credit):
            answers.append(event.message.seq)
            if len(answers) == 100:
                done.set()

    with Bus(on_served, own_thread=False) as turned:
        server = turned.serve(endpoint, welcome)
        with Bus(on_dialed) as dialing:
            link = dialing.dial(endpoint, Hello(role="client"), takes=(Credit,))
            deadline_s = time.monotonic() + WAIT_S
            while not done.is_set() and time.monotonic() < deadline_s:
                turned.step(deadline_s)
    assert heard == answers == list(range(100))
    assert threads == {threading.get_ident()}


def test_a_turn_ends_at_its_time_or_when_another_thread_posts(tmp_path: Path) -> None:
    """Waiting costs no more than was asked for, and what is posted meanwhile is not waited for."""
    ran: list[int] = []
    with Bus(lambda _: None, own_thread=False) as bus:
        bus.serve(f"ipc://{tmp_path}/x", welcome)
        bus.step(time.monotonic())
        poster = threading.Thread(target=lambda: bus.post(lambda: ran.append(threading.get_ident())))
        poster.start()
        poster.join(WAIT_S)
        assert bus.waiting == 1
        bus.step()
    assert ran == [threading.get_ident()]


def test_what_a_failing_turn_left_is_done_by_the_next(tmp_path: Path) -> None:
    """One bad event silences nobody: the callables behind it run in the next turn, which does not wait."""
    ran: list[str] = []

    def fail() -> None:
        raise RuntimeError("bad")

    with Bus(lambda _: None, own_thread=False) as bus:
        bus.post(fail)
        bus.post(lambda: ran.append("next"))
        for _ in range(2):
            try:
                bus.step(time.monotonic() + WAIT_S)
            except RuntimeError:
                ran.append("failed")
    assert ran == ["failed", "next"]


def test_an_end_that_stood_still_listens_before_it_gives_its_link_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For longer than a link may be silent: what came meanwhile is read first, and the other end is pinged again."""
    monkeypatch.setattr("hocket_bus.sockets.link.LOCAL_LIVENESS_S", 1.0)
    endpoint, seen = f"ipc://{tmp_path}/x", list[Event]()
    with Bus(lambda _: None) as serving, Bus(seen.append, own_thread=False) as turned:
        serving.serve(endpoint, welcome)
        link = turned.dial(endpoint, Hello(role="client"))
        deadline_s = time.monotonic() + WAIT_S
        while not link.up and time.monotonic() < deadline_s:
            turned.step(deadline_s)
        turned.step(time.monotonic() + 0.2)  # the answer to the first ping
        threading.Event().wait(1.2)
        for _ in range(2):
            turned.step(time.monotonic())
        assert [type(event) for event in seen] == [LinkUp]


@pytest.mark.parametrize(("local_s", "kept"), [(WAIT_S, True), (0.8, False)])
def test_a_silent_end_on_this_machine_is_waited_for_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local_s: float, kept: bool
) -> None:
    """One that ends hangs up at once; one that says nothing may be short of a processor."""
    monkeypatch.setattr("hocket_bus.sockets.link.LIVENESS_S", 0.8)
    monkeypatch.setattr("hocket_bus.sockets.link.LOCAL_LIVENESS_S", local_s)
    seen: SimpleQueue[Event] = SimpleQueue()
    with Bus(lambda _: None, own_thread=False) as still, Bus(seen.put) as dialing:
        still.serve(f"ipc://{tmp_path}/x", welcome)
        link = dialing.dial(f"ipc://{tmp_path}/x", Hello(role="client"))
        deadline_s = time.monotonic() + WAIT_S
        while not link.up and time.monotonic() < deadline_s:
            still.step(time.monotonic() + 0.05)
        assert isinstance(seen.get(timeout=WAIT_S), LinkUp)
        if kept:
            with pytest.raises(Empty):
                seen.get(timeout=2.0)
        else:
            assert isinstance(seen.get(timeout=WAIT_S), LinkDown)


def test_a_bus_may_be_closed_while_others_post() -> None:
    """What is posted at the end is done or not, and no descriptor is written to that is closed, or somebody else's."""
    failures: list[OSError] = []

    def post(bus: Bus, start: threading.Event) -> None:
        start.wait(WAIT_S)
        try:
            for _ in range(3000):
                bus.post(lambda: None)
        except OSError as error:
            failures.append(error)

    for _ in range(200):
        bus, start = Bus(lambda _: None), threading.Event()
        posting = [threading.Thread(target=post, args=(bus, start)) for _ in range(2)]
        for thread in posting:
            thread.start()
        start.set()
        bus.close(0)
        for thread in posting:
            thread.join(WAIT_S)
    assert not failures
