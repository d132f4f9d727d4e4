"""The parts that whoever starts a daemon may replace by others of the same kind; the defaults are the product's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..aggregation.exchange.schedule import Scheduler
from ..dispatch.strategy import DISCO, Strategy
from ..engine.runtime.compute import Compute, Post, Read


@dataclass(frozen=True, slots=True)
class Parts:
    """The compute thread, what decides which side aggregates next (independent), and what leads a dispatched answer."""

    compute: Callable[[Post, Read], Compute] = Compute
    scheduler: Callable[[], Scheduler] = Scheduler
    strategy: Strategy = DISCO


PRODUCT = Parts()
