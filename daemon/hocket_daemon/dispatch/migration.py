"""When the writing moves to the cheaper side, and what the reader notices: DiSCo §4.3. Pure; times are passed in.

Eq. 4 and 5 weigh what the rest of the answer saves against what the target has to read. Eq. 6 says how many tokens
the reader should have in hand, B = r_c t_m, before a source stops; one that writes on needs none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hocket_bus.messages import Side

from .cost import Costs
from .settings import Migration


def worth_moving(costs: Costs, source: Side, remaining_tokens: float, prefill_tokens_on_target: float) -> bool:
    """Eq. 4: whether the target's cheaper tokens save more than what it has to read first costs."""
    prefill, decode = costs.server_prefill, costs.server_decode
    if source == "cloud":
        prefill, decode = costs.device_prefill, costs.device_decode
    written = costs.device_decode if source == "device" else costs.server_decode
    return (written - decode) * remaining_tokens > prefill * prefill_tokens_on_target


def buffer_tokens(pace: float, migration_s: float) -> int:
    """B of Eq. 6: whole tokens that a reader of `pace` tokens a second reads in `migration_s`."""
    return math.ceil(pace * migration_s)


@dataclass(frozen=True, slots=True)
class Route:
    """What a hand-over depends on. Rates are tokens a second, times seconds.

    A target needs `ready_s` to read the prompt and what is written, `expected_s` was thought. What the source has
    written since then it reads at `catch_up_rate`.
    """

    tokens: int
    pace: float
    source_rate: float
    target_rate: float
    ready_s: float
    expected_s: float
    catch_up_rate: float


@dataclass(frozen=True, slots=True)
class Delivery:
    """Seconds behind the first token at which each token is written and read, and who wrote how many of them.

    `asked` is how many stood when the target was asked; it reads these, and `caught_up` more.
    """

    written_s: Sequence[float]
    read_s: Sequence[float]
    of_source: int
    asked: int
    caught_up: int

    @property
    def moved(self) -> bool:
        """Whether the target wrote any."""
        return self.of_source < len(self.written_s)

    def late(self, pace: float) -> int:
        """Tokens that were not there when a reader of that pace wanted them, counted from the first token."""
        due_s = (place / pace for place in range(len(self.written_s)))
        return sum(written > due + 1e-9 for written, due in zip(self.written_s, due_s, strict=True))

    def gaps_s(self) -> list[float]:
        """Seconds between two tokens as they are read (TBT)."""
        return [after - before for before, after in zip(self.read_s, self.read_s[1:], strict=False)]


def delivered(route: Route, migration: Migration) -> Delivery:
    """An answer whose writing moves as soon as it may."""
    if migration == "off":
        written = [place / route.source_rate for place in range(route.tokens)]
        return Delivery(written, _read(written, route.pace), route.tokens, route.tokens, 0)
    return _overlapped(route) if migration == "overlap" else _stopped(route)


def _overlapped(route: Route) -> Delivery:
    """The target is asked at the first token and reads it; the source writes until it stands at the prefix."""
    stood = min(route.tokens, 1 + math.floor(route.ready_s * route.source_rate))
    caught_up = stood - 1
    begins_s = route.ready_s + caught_up / route.catch_up_rate
    while stood < route.tokens and stood / route.source_rate <= begins_s:  # written while it caught up
        stood, caught_up = stood + 1, caught_up + 1
        begins_s = max(begins_s, route.ready_s + caught_up / route.catch_up_rate)
    return _both(route, of_source=stood, asked=1, caught_up=caught_up, begins_s=begins_s)


def _stopped(route: Route) -> Delivery:
    """The source stops with B tokens more than are read; then the target reads the prompt and all of them."""
    wanted = buffer_tokens(route.pace, route.expected_s)
    ahead = 1 - route.pace / route.source_rate  # tokens that the reader's hand gains with each one written
    stood = route.tokens if ahead <= 0 else min(route.tokens, 1 + math.ceil(wanted / ahead))
    begins_s = (stood - 1) / route.source_rate + route.ready_s
    return _both(route, of_source=stood, asked=stood, caught_up=0, begins_s=begins_s)


def _both(route: Route, of_source: int, asked: int, caught_up: int, begins_s: float) -> Delivery:
    written = [place / route.source_rate for place in range(of_source)]
    written += [begins_s + (place + 1) / route.target_rate for place in range(route.tokens - of_source)]
    return Delivery(written, _read(written, route.pace), of_source, asked, caught_up)


def _read(written_s: Sequence[float], pace: float) -> list[float]:
    """When a reader of that pace reads each token."""
    read: list[float] = []
    for at_s in written_s:
        read.append(max(at_s, read[-1] + 1 / pace) if read else at_s)
    return read
