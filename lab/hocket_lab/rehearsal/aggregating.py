"""Schedulers that decide which side aggregates next, beside that of DRAGON §5: a fixed side, or chance (Figure 8)."""

from __future__ import annotations

import random
from typing import Literal

from hocket_bus.messages import Side
from hocket_daemon.aggregation.exchange.schedule import Scheduler

Aggregating = Literal["scheduler", "device", "cloud", "random"]


class Fixed(Scheduler):
    """A scheduler that always chooses the same side."""

    def __init__(self, side: Side) -> None:
        super().__init__()
        self._side: Side = side

    def next_side(self, l: Side, *, ahead: bool = True) -> Side:  # noqa: ARG002, E741 # the paper's name
        """Return that side."""
        return self._side


class Drawn(Scheduler):
    """A scheduler that draws either side with equal probability."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self._random = random.Random(seed)

    def next_side(self, l: Side, *, ahead: bool = True) -> Side:  # noqa: ARG002, E741 # the paper's name
        """Draw the next side."""
        return "device" if self._random.random() < 0.5 else "cloud"


def scheduler(aggregating: Aggregating) -> Scheduler:
    """Return the scheduler of this name."""
    match aggregating:
        case "scheduler":
            return Scheduler()
        case "random":
            return Drawn()
        case side:
            return Fixed(side)
