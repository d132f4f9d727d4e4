"""The replaceable parts of a daemon, chosen by whoever starts it; the defaults are the product's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..aggregation.exchange.schedule import Scheduler
from ..dispatch.strategy import DISCO, Strategy
from ..engine.runtime.compute import Compute, Post, Read


@dataclass(frozen=True, slots=True)
class Parts:
    """The compute thread, the scheduler of which side aggregates next (independent), and the strategy of dispatch."""

    compute: Callable[[Post, Read], Compute] = Compute
    scheduler: Callable[[], Scheduler] = Scheduler
    strategy: Strategy = DISCO


PRODUCT = Parts()
