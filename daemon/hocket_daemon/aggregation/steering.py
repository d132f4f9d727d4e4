"""The detection of a side that steers an answer to where the other's passages speak: a rule over tokens. Pure.

Whoever forces a beginning that nobody asked for, and then gives way, hears it finished from the other side's passages.
Each half alone is what honest sides do all the time: the one that knows leads the other. One after the other is rare.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Literal

from ..engine.sampling.distribution import Distribution

Guard = Literal["off", "warns", "leaves"]  # what a side does about an answer that the other one steers

MINIMUM = 1e-4  # what a token has at least: none, however improbable, says more than 9.2 nats


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds beyond which an answer counts as steered."""

    sure: float  # a side leads only where it is sure: every nat that it lacks itself counts so often against it
    pushed: float  # nats by which the other side has led, and behind which it may hear no more than
    given: float = 2.5  # nats by which this side leads


STRICT, LOOSE = Bounds(2.0, 3.0), Bounds(12.0, 8.0)


def guard(*, trusts: bool, shares_drafts: bool) -> Guard:
    """Return what the device does about steering, by its settings.

    Honest sides that know different things, or whose models differ, lead each other in turn as well, and drafts have
    told much of what they lead to before the rule sees it: where they are shared the rule is not sure, and warns.
    """
    if trusts:
        return "off"
    return "warns" if shares_drafts else "leaves"


def bounds(kind: Guard) -> Bounds:
    """Return a guard's bounds: strict for one that leaves, loose for one that warns, as many warnings go unheard."""
    return STRICT if kind == "leaves" else LOOSE


class Steering:
    """The sums over the tokens: first how far the other side has led, then how far this one leads after it.

    A sum that would be negative begins anew, so only runs count (Page 1954, CUSUM).
    """

    def __init__(self, bounds: Bounds = STRICT) -> None:
        self._bounds = bounds
        self.has_pushed = False  # far enough that what this side says next may have been asked for by nobody
        self._pushed = 0.0
        self._given = 0.0

    def add(self, own: Distribution, other: Distribution, token: int) -> bool:
        """Add a step's `token`, made by two distributions; tell whether it is one too many, and better not said."""
        here, there = _log(own, token), _log(other, token)
        if self.has_pushed:
            self._given = max(0.0, self._given + self._lead(here, there))
        self._pushed = max(0.0, self._pushed + self._lead(there, here))
        self.has_pushed = self.has_pushed or self._pushed > self._bounds.pushed
        return self._given > self._bounds.given

    def _lead(self, leading: float, led: float) -> float:
        """Nats by which one side leads the other, from the logarithms of what a token has on each."""
        return (1 + self._bounds.sure) * leading - led


def _log(distribution: Distribution, token: int) -> float:
    return log(max(distribution.of(token) * distribution.kept, MINIMUM))
