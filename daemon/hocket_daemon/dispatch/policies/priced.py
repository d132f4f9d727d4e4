"""Our policy: the waits that minimise E[TTFT] + price · tokens of the device. Pure.

The server starts at once. If the device, which takes T = k l + c, starts after w unless the server was first, then
E[TTFT] = E[min(S, w + T)], and l tokens are spent with probability 1 − F(w). Both move at F's own steps alone, so that
these and 0 are all the waits that can be best. One price for all lengths is what minimises the mean for a budget: it
is a knapsack whose items are the steps. At that price mostly one length is as well off with either of two waits, and
takes the shorter one as often as the budget lasts. The longest S seen is the last wait; it costs nothing expected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .device_ttft import DeviceTtft
from .policy import Ints, StartDelays, lottery
from .ttfts import Floats, Ttfts

_MAX_WAITS = 192  # that are tried, evenly in F and finer in its tail
_MAX_LENGTHS = 48  # groups of like lengths while the price is looked for
_HALVINGS = 14  # of the price's logarithm
_NEARLY_NOTHING = 1e-7  # of the highest price


class Priced:
    """The waits, and the price in seconds a token with which the expected spend is the budget's share of all tokens."""

    def __init__(self, ttfts: Ttfts, lengths: Ints, device_ttft: DeviceTtft, budget: float) -> None:
        self._ttfts = ttfts
        self._k, self._c = device_ttft.k, device_ttft.c
        self._waits_s = _tried(ttfts)
        self._left = ttfts.left(self._waits_s)
        self._prices = self._found(lengths, budget)

    @property
    def price(self) -> float:
        """Seconds of mean TTFT that a token of the device has to save."""
        return self._prices.high

    @property
    def share(self) -> float:
        """The share of requests, those of a lower chance, that take the shorter one of two equally good waits."""
        return self._prices.share

    def waits(self, length: float, chance: float = 0.5, /) -> StartDelays:
        """Start the server at once, the device after the best wait."""
        return StartDelays(float(self.waits_s(np.array([length]), np.array([chance]))[0]), 0.0)

    def waits_s(self, lengths: Floats, chances: Floats) -> Floats:
        """The device's waits for prompts of these lengths, [n]; `chances` [n] are uniform in [0, 1)."""
        low, high, share = self._prices
        price = np.where(chances < share, low, high)
        total = self._means_s(lengths) + np.outer(price * lengths, self._left)
        best: Floats = self._waits_s[total.argmin(axis=1)]
        return best

    def _means_s(self, lengths: Floats) -> Floats:
        """Return E[TTFT] by length and wait."""
        return self._ttfts.mean_within(np.add.outer(self._k * lengths + self._c, self._waits_s))

    def _found(self, lengths: Ints, budget: float) -> _Prices:
        """Two nearly equal prices around the one for the budget, and how often the lower one can be paid."""
        middle, share = _grouped(*lottery(lengths))
        means_s, tokens = self._means_s(middle), np.outer(middle, self._left)

        def spend(price: float) -> float:
            best = (means_s + price * tokens).argmin(axis=1)
            return float(share @ self._left[best])

        return _around(spend, budget, self._highest(means_s, middle))

    def _highest(self, means_s: Floats, lengths: Floats) -> float:
        """A price at which no start is worth its tokens: what is gained by the best one for the likeliest server."""
        gain_s = means_s[:, -1] - means_s.min(axis=1)
        minimum = self._left[self._left > 0].min(initial=1.0)
        return float((gain_s / np.maximum(lengths, 1.0)).max() / minimum) + 1e-9


class _Prices(NamedTuple):
    """Two prices: `low` spends too much, `high` does not; with `low` in a `share` (0 to 1) of requests all is spent."""

    low: float
    high: float
    share: float


def _around(spend: Callable[[float], float], budget: float, high: float) -> _Prices:
    """Find the prices by halving; `spend` falls with the price and is at most the budget at `high`."""
    dear, cheap = spend(0.0), spend(high)
    if dear <= budget:
        return _Prices(0.0, 0.0, 0.0)
    low, minimum = 0.0, high * _NEARLY_NOTHING
    for _ in range(_HALVINGS):
        price = math.sqrt(max(low, minimum) * high)
        found = spend(price)
        if found <= budget:
            high, cheap = price, found
        else:
            low, dear = price, found
    return _Prices(low, high, max(0.0, budget - cheap) / (dear - cheap))


def _tried(ttfts: Ttfts) -> Floats:
    """Return 0 and the steps of F, or as many of them as are tried."""
    steps = ttfts.times_s
    if len(steps) >= _MAX_WAITS:
        evenly = np.linspace(0, 1, _MAX_WAITS * 3 // 4)
        finer = 1 - 0.1 * np.linspace(0, 1, _MAX_WAITS // 4) ** 2
        places = ttfts.cdf.searchsorted(np.concatenate((evenly, finer)) - 1e-12)
        steps = steps[np.minimum(places, len(steps) - 1)]
    return np.unique(np.concatenate(([0.0], steps)))


def _grouped(lengths: Ints, share: Floats) -> tuple[Floats, Floats]:
    """Mean length of each group of neighbours with nearly equal shares of all tokens, and its share."""
    if len(lengths) <= _MAX_LENGTHS:
        return lengths.astype(float), share
    group = np.minimum((np.cumsum(share) - share / 2) * _MAX_LENGTHS, _MAX_LENGTHS - 1).astype(int)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    sums = np.add.reduceat(share, starts)
    return np.add.reduceat(share * lengths, starts) / np.maximum(sums, 1e-300), sums
