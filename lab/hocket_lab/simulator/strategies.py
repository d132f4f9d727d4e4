"""The strategies that a simulation compares: whose decisions are replayed, who aggregates, who drafts ahead."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from hocket_bus.messages import Side
from hocket_daemon.aggregation.exchange.schedule import Scheduler

from .recording import Decisions

Switching = Literal["never", "random", "scheduler"]


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way to run an answer.

    decisions: whose acceptances are replayed: Algorithm 1's ("independent") or those of one noise ("coupled").
    aggregators: the sides that aggregate at first; with both, each side does for itself and nothing is switched.
    switching: how the side that aggregates next is chosen.
    ahead: whether a side drafts after drafts that are not confirmed.
    """

    decisions: Decisions
    aggregators: tuple[Side, ...]
    switching: Switching = "never"
    ahead: bool = True


STRATEGIES = {
    "sync": Strategy("independent", ("device",), ahead=False),
    "sync-both": Strategy("independent", ("device", "cloud"), ahead=False),
    "device": Strategy("independent", ("device",)),
    "cloud": Strategy("independent", ("cloud",)),
    "random": Strategy("independent", ("device",), "random"),
    "scheduler": Strategy("independent", ("device",), "scheduler"),
    "coupled-device": Strategy("coupled", ("device",)),
    "coupled-scheduler": Strategy("coupled", ("device",), "scheduler"),
    "coupled": Strategy("coupled", ("device", "cloud")),
}


class Chooser:
    """A chooser of the side that aggregates next."""

    def __init__(self, switching: Switching, seed: int) -> None:
        self.scheduler = Scheduler()
        self._switching = switching
        self._random = random.Random(seed)

    def next_side(self, now: Side) -> Side:
        """The side that aggregates after `now` has."""
        if self._switching == "random":
            return self._random.choice(("device", "cloud"))
        return self.scheduler.next_side(now) if self._switching == "scheduler" else now
