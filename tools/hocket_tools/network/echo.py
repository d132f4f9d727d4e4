"""The round trip by the bus's own echo, on a connection to a daemon: the figure that a running pair uses."""

from __future__ import annotations

import threading
from pathlib import Path

from hocket_bus.deadline import Deadline
from hocket_bus.endpoints import check_endpoint
from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.messages import Hello
from hocket_bus.sockets import PING_S, Bus, Event, LinkDown, LinkUp

_CONNECT_S = 5.0


def echo(endpoint: str, keys: Path | None = None, echoes: int = 5) -> float:
    """The round trip to the daemon at `endpoint` in seconds, after `echoes` of them; `keys` as for a Client.

    Raises BadConfiguration, or Unavailable when nothing answers.
    """
    check_endpoint(endpoint)
    up, broke = threading.Event(), threading.Event()
    reasons: list[HocketError] = []

    def on_event(event: Event) -> None:
        if isinstance(event, LinkUp):
            up.set()
        elif isinstance(event, LinkDown):
            reasons.append(event.reason)
            broke.set()

    with Bus(on_event, keys) as bus:
        link = bus.dial(endpoint, Hello(role="client"), takes=())
        if not up.wait(_CONNECT_S):
            raise Unavailable(f"no daemon answers at {endpoint}", "does one run there, at that port?")
        broke.clear()
        deadline = Deadline.after(echoes * PING_S + _CONNECT_S)
        while link.round_trip.count < echoes and not deadline.passed:
            if broke.wait(PING_S / 5):
                raise reasons[-1]
        return link.rtt_s
