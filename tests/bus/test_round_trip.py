"""The in-band echo over the link emulator: a round trip that changes is known to both ends within 3 s."""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import inf
from pathlib import Path

import pytest

from hocket_bus.deadline import Deadline
from hocket_bus.messages import Cancel, Hello, Welcome
from hocket_bus.sockets import PING_S, Bus, Event, LinkUp, Received
from hocket_lab.link import Conditions, start
from hocket_tools.pair.loopback import trust_self
from ports import free_port
from waiting import WAIT_S

PORT = free_port()  # a daemon takes two neighbouring ones


class Ends:
    """A dialing and a serving end with the emulated link between them."""

    def __init__(self, dialing: Bus, serving: Bus, port: int) -> None:
        self.server = serving.serve(f"tcp://127.0.0.1:{PORT}", lambda _: Welcome(role="cloud", epoch=1))
        self.link = dialing.dial(f"tcp://127.0.0.1:{port}", Hello(role="device"))


def await_true(holds: Callable[[], bool], seconds: float) -> bool:
    """Whether `holds` came true within `seconds`; looks at it far more often than echoes come."""
    deadline, pause = Deadline.after(seconds), threading.Event()
    while not holds():
        if deadline.passed:
            return False
        pause.wait(PING_S / 50)
    return True


@pytest.mark.parametrize(("within_s", "at_most_s"), [(WAIT_S, inf), pytest.param(3.0, 0.24, marks=pytest.mark.long)])
def test_both_ends_follow_a_step_from_20_to_200_ms(tmp_path: Path, within_s: float, at_most_s: float) -> None:
    """Two echoes after the step the dialing end knows it, the next ping tells the other end: in 3 s and within a fifth,
    where the machine does not stand still meanwhile."""
    up, route = threading.Event(), threading.Event()
    routes: list[bytes] = []

    def on_dialed(event: Event) -> None:
        if isinstance(event, LinkUp):
            up.set()

    def on_served(event: Event) -> None:
        if isinstance(event, Received):
            routes.append(event.route)
            route.set()

    with (
        start("127.0.0.1:0", f"127.0.0.1:{PORT}", Conditions.symmetric(0.020)) as emulated,
        Bus(on_dialed, tmp_path) as dialing,
        Bus(on_served, tmp_path) as serving,
    ):
        trust_self(tmp_path, f"tcp://127.0.0.1:{emulated.port}")
        ends = Ends(dialing, serving, emulated.port)
        assert up.wait(WAIT_S)
        ends.link.send(Cancel(request=bytes(16)))
        assert route.wait(WAIT_S)
        assert await_true(lambda: 0.02 <= ends.link.rtt_s < at_most_s / 2, WAIT_S)
        assert await_true(lambda: 0.02 <= ends.server.rtt_s(routes[0]) < at_most_s / 2, WAIT_S)
        average_s = ends.link.round_trip.average

        emulated.set(Conditions.symmetric(0.200))

        assert await_true(lambda: 0.16 <= ends.link.rtt_s <= at_most_s, within_s)
        assert ends.link.round_trip.average != average_s
        assert await_true(lambda: 0.16 <= ends.server.rtt_s(routes[0]) <= at_most_s, within_s)


def test_two_echoes_fit_into_three_seconds() -> None:
    """Whatever the machine's load: the step may come just after a ping, and each echo takes the new round trip."""
    assert 3 * PING_S + 0.2 < 3.0


def test_an_end_that_never_pinged_is_at_no_distance(tmp_path: Path) -> None:
    """0 stands for unknown."""
    with Bus(lambda _: None) as bus:
        server = bus.serve(f"ipc://{tmp_path}/x", lambda _: Welcome(role="cloud", epoch=1))

        assert server.rtt_s(b"nobody") == 0.0
