"""On which terms a question is led: what its mode decides for all, and what was asked of this one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hocket_bus.messages import AggregationOptions, Ask, Begin

from .partner import Waits
from .schedule import Aggregating


@dataclass(frozen=True, slots=True)
class LeaderTerms:
    """What a mode gives each of its leaders: how long to wait, who aggregates, whether to be on guard, how to open."""

    waits: Waits
    aggregating: Aggregating
    watches: bool  # whether the other side is left where it steers the answer
    opening: Callable[[str], Begin]  # by the scorer that both sides are known to have
    agreed: Callable[[str], None]  # is told the scorer that both sides have


def options_of(ask: Ask) -> AggregationOptions:
    """The options of a question; the defaults where it has none."""
    return ask.options if isinstance(ask.options, AggregationOptions) else AggregationOptions()
