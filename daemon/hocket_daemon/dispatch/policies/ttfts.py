"""The wait for a server's first token, as a distribution. Pure; knows no policy and no clock."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
BEYOND = 1.5


class Ttfts:
    """F(t), a step function: `times_s` [n] ascend, and F is `cdf` [n] from each on; the last is 1.

    `known` is the share of it that was seen; quantiles beyond are a guess, as servers were cancelled sooner.
    """

    def __init__(self, times_s: Floats, cdf: Floats, known: float = 1.0) -> None:
        self.times_s = times_s
        self.cdf = cdf
        mass = np.diff(cdf, prepend=0.0)
        self._partial = np.concatenate(([0.0], np.cumsum(mass * times_s)))  # of the mean, up to each time
        self._left = np.concatenate(([1.0], 1 - cdf))
        self._left[-1] = 0.0
        self.known = known

    @classmethod
    def of_censored(cls, seconds: Floats, seen: NDArray[np.bool_], weights: Floats) -> Ttfts:
        """Estimate F as Kaplan and Meier do, all [n], n > 0: where not `seen`, the server was cancelled after so long.

        What the last one leaves, if it is censored, is known to be longer and no more: it is put at BEYOND times as
        long, so that a quantile is finite and a start at the longest wait yet is not taken to be free.
        """
        order = np.lexsort((~seen, seconds))
        seconds, seen, weights = seconds[order], seen[order], weights[order]
        at_risk = np.cumsum(weights[::-1])[::-1]
        cdf = 1 - np.cumprod(1 - np.where(seen, weights / at_risk, 0.0))
        if seen[-1]:
            cdf[-1] = 1.0
            return cls(seconds[seen], cdf[seen])
        return cls(np.append(seconds[seen], BEYOND * seconds[-1]), np.append(cdf[seen], 1.0), float(cdf[-1]))

    def at(self, t_s: float) -> float:
        """Return F(t), the probability that the first token is there within `t_s`."""
        place = int(self.times_s.searchsorted(t_s, side="right"))
        return float(self.cdf[place - 1]) if place else 0.0

    def quantile(self, share: float) -> float:
        """The least time with F(t) >= `share` (0 to 1), in seconds."""
        place = int(self.cdf.searchsorted(share - 1e-12))
        return float(self.times_s[min(place, len(self.times_s) - 1)])

    def left(self, t_s: Floats) -> Floats:
        """Return 1 − F(t), of any shape."""
        return self._left[self.times_s.searchsorted(t_s, side="right")]

    def mean_within(self, t_s: Floats) -> Floats:
        """Return E[min(S, t)] in seconds, of any shape: the wait when something else is there at t."""
        place = self.times_s.searchsorted(t_s, side="right")
        return self._partial[place] + t_s * self._left[place]

    def mean(self) -> float:
        """Return E[S] in seconds."""
        return float(self._partial[-1])
