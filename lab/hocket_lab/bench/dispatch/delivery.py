"""Computed times at which the tokens of an answer that moves are written and read, as DiSCo §4.3 promises. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from hocket_daemon.dispatch.policies.migration import buffer_tokens
from hocket_daemon.dispatch.settings import Migration

_INSTANT_S = 1e-9


@dataclass(frozen=True, slots=True)
class Route:
    """Parameters of a hand-over. Rates are tokens per second, times seconds.

    A target has read the prompt and the first token `ready_s` after it was asked; `expected_s` was the estimate. It
    reads the other tokens written at `reading_rate`. A source that writes on keeps at most `lead` tokens ahead of the
    reader.
    """

    tokens: int
    pace: float
    source_rate: float
    target_rate: float
    ready_s: float
    expected_s: float
    reading_rate: float
    lead: float = math.inf


@dataclass(frozen=True, slots=True)
class Delivery:
    """Seconds after the first token at which each token is written and read.

    The source wrote `of_source` tokens. The target read `target_read` of these; 0 if it was not asked.
    """

    written_s: Sequence[float]
    read_s: Sequence[float]
    of_source: int
    target_read: int

    def late(self, pace: float) -> int:
        """Count the tokens that were late for a reader of that pace, counted from the first token."""
        return sum(written > place / pace + _INSTANT_S for place, written in enumerate(self.written_s))

    def gaps_s(self) -> list[float]:
        """Return the seconds between two tokens as they are read (TBT)."""
        return [after - before for before, after in pairwise(self.read_s)]


def delivered(route: Route, migration: Migration) -> Delivery:
    """Return the delivery of an answer whose writing moves as soon as it may."""
    if migration == "overlap":
        own_s, stands_s = _overlapped(route)
    else:
        own_s, stands_s = _stopped(route, route.tokens if migration == "off" else _at_stop(route))
    rest = range(1, route.tokens - len(own_s) + 1)
    written_s = own_s + [stands_s + place / route.target_rate for place in rest]
    return Delivery(written_s, _read(written_s, route.pace), len(own_s), 0 if migration == "off" else len(own_s))


def _overlapped(route: Route) -> tuple[list[float], float]:
    """Return the source's write times and the time at which the target is ready, having read all that is written.

    The target is asked at the first token, and the source writes until the target is ready.
    """
    written_s: list[float] = []
    next_s = stands_s = 0.0
    while len(written_s) < route.tokens and next_s <= stands_s:
        written_s.append(next_s)
        stands_s = route.ready_s + (len(written_s) - 1) / route.reading_rate
        held_s = (len(written_s) - route.lead) / route.pace
        next_s = max(next_s + 1 / route.source_rate, held_s)
    return written_s, stands_s


def _stopped(route: Route, of_source: int) -> tuple[list[float], float]:
    """Return the source's write times, and the time at which the target has read the prompt and all of its tokens."""
    written_s = [place / route.source_rate for place in range(of_source)]
    return written_s, written_s[-1] + route.ready_s + (of_source - 1) / route.reading_rate


def _at_stop(route: Route) -> int:
    """Return the number of tokens that the source writes until B more are written than read."""
    gained = 1 - route.pace / route.source_rate  # tokens that come to the reader's hand with each one written
    wanted = buffer_tokens(route.pace, route.expected_s)
    return route.tokens if gained <= 0 else min(route.tokens, 1 + math.ceil(wanted / gained))


def _read(written_s: Sequence[float], pace: float) -> list[float]:
    """Return the times at which a reader of that pace reads each token."""
    read: list[float] = []
    for at_s in written_s:
        read.append(max(at_s, read[-1] + 1 / pace) if read else at_s)
    return read
