"""The waits of each side before it starts: DiSCo §4.2 and Appendix F, and a policy of ours. Pure.

All are built of F (the server's `Ttfts`), the last prompts' lengths and a budget, the share of their tokens that the
constrained side may read. `priced` is in its own file.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .device_ttft import DeviceTtft
from .ttfts import Floats, Ttfts

NEVER = math.inf
Ints = NDArray[np.int64]


class StartDelays(NamedTuple):
    """Seconds after the question before a side starts, unless the other's first token is there; NEVER: not at all."""

    device_s: float
    server_s: float


class Policy(Protocol):
    """A policy of waits, by the `length` in tokens that the constrained side would have to read.

    `chance`, uniform in [0, 1), decides where two waits are as good and the budget pays for both in turn.
    """

    def waits(self, length: float, chance: float = 0.5, /) -> StartDelays:
        """Return how long a prompt of that length makes each side wait."""
        ...


class Lottery(NamedTuple):
    """The lengths that occur, ascending [n], and each one's share of all tokens, l p(l) / E[l], which sum to 1."""

    lengths: Ints
    share: Floats


def lottery(lengths: Ints) -> Lottery:
    """Return the lottery of the lengths of prompts [m], m > 0, each at least 0."""
    number = np.bincount(lengths)
    found = np.flatnonzero(number)
    tokens = found * number[found]
    return Lottery(found, tokens / max(1, tokens.sum()))


class Greedy:
    """Algorithm 2, mended: the device starts after w(l), with probability 1 − F(w) where F(w) is printed.

    The shortest prompts start at once, the next length after a wait that uses the budget up, and all others at w_tail.
    """

    def __init__(self, ttfts: Ttfts, lengths: Ints, budget: float, tail_share: float) -> None:
        kept = min(tail_share, budget)
        self._tail_s = ttfts.quantile(1 - kept)
        found, share = lottery(lengths)
        cost = share * (1 - kept)  # beyond what the tail takes of every length
        after = np.cumsum(cost)
        place = int(after.searchsorted(budget - kept + 1e-12, side="right"))
        self._at_once = float(found[place - 1]) if place else -1.0
        self._between, self._between_s = -1.0, self._tail_s
        if place < len(found) and cost[place] > 0:
            left = budget - kept - (after[place - 1] if place else 0.0)
            self._between = float(found[place])
            self._between_s = min(self._tail_s, ttfts.quantile(1 - kept - max(0.0, left) / share[place]))

    def waits(self, length: float, _chance: float = 0.5, /) -> StartDelays:
        """Start the server at once, the device after w(l)."""
        if length <= self._at_once:
            return StartDelays(0.0, 0.0)
        return StartDelays(self._between_s if length == self._between else self._tail_s, 0.0)


class Ramp:
    """Eq. 1 and 2: w(l) = 0 up to l_th, and min(β l, w_tail) beyond it.

    Eq. 2 takes what the prompts up to l_th cost for nothing; here they are paid of the same budget, and w_tail's share
    with the rest. The paper leaves l_th open: of some, the one whose mean TTFT is the least is taken, with β for it.
    """

    _THRESHOLDS = 8
    _HALVINGS = 30

    def __init__(self, ttfts: Ttfts, lengths: Ints, device_ttft: DeviceTtft, budget: float, tail_share: float) -> None:
        self._tail_s = ttfts.quantile(1 - min(tail_share, budget))
        found, share = lottery(lengths)
        paid = np.cumsum(share)
        last = int(paid.searchsorted(budget + 1e-12, side="right"))  # the first length that cannot start at once
        number = share / np.maximum(found, 1)
        best_s = math.inf
        for place in sorted({round(last * step / self._THRESHOLDS) for step in range(self._THRESHOLDS + 1)}):
            left = budget - (paid[place - 1] if place else 0.0)
            if place and left < ttfts.left(np.array(self._tail_s)) * share[place:].sum():
                continue  # the tail's share of the longer ones would not be paid
            slope = self._slope(ttfts, found[place:], share[place:], left)
            waits_s = np.where(np.arange(len(found)) < place, 0.0, np.minimum(slope * found, self._tail_s))
            mean_s = float(number @ ttfts.mean_within(waits_s + device_ttft.k * found + device_ttft.c))
            if mean_s < best_s:
                best_s, self._slope_s = mean_s, slope
                self._at_once = float(found[place - 1]) if place else -1.0

    def _slope(self, ttfts: Ttfts, lengths: Ints, share: Floats, budget: float) -> float:
        """Return β, the least with which the budget suffices, in seconds a token."""
        low, high = 0.0, self._tail_s
        for _ in range(self._HALVINGS):
            slope = (low + high) / 2
            fits = share @ ttfts.left(np.minimum(slope * lengths, self._tail_s)) <= budget
            low, high = (low, slope) if fits else (slope, high)
        return high

    def waits(self, length: float, _chance: float = 0.5, /) -> StartDelays:
        """Start the server at once, the device after w(l)."""
        return StartDelays(0.0 if length <= self._at_once else min(self._slope_s * length, self._tail_s), 0.0)


class Threshold:
    """Eq. 3 and Algorithm 3: the device starts at once, and with prompts of at least l_th tokens the server, too."""

    def __init__(self, lengths: Ints, budget: float) -> None:
        found, share = lottery(lengths)
        place = int(np.cumsum(share).searchsorted(1 - budget + 1e-12, side="right"))
        self._minimum = float(found[place]) if place < len(found) else NEVER
        if place == 0:  # where all known ones start, a shorter one does
            self._minimum = 0.0

    def waits(self, length: float, _chance: float = 0.5, /) -> StartDelays:
        """Start the device at once; shorter prompts never start the server."""
        return StartDelays(0.0, 0.0 if length >= self._minimum else NEVER)
