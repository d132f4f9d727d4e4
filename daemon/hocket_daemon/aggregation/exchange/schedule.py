"""The choice of the side that aggregates next: DRAGON §5, greedy scheduling.

Times are seconds, l aggregates now and r does not. Eq. 7 prints the delay of l's transmission twice; Figure 11 and Eq.
8 need one delay of each side, whose sum is the rtt.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hocket_bus.messages import Side

DEFAULT_SIDE: Side = "device"
GAMMA = 0.5  # the paper's choice for both sides (§4.3)
_ZETA = 0.1  # weight of a new observation; the paper gives none
_ALPHA = 0.5  # of either side before the first: one that was lucky once must not move the aggregation


def other(side: Side) -> Side:
    """The side across the link."""
    return "cloud" if side == "device" else "device"


def acceptance(p_s: NDArray[np.float64], p_t: NDArray[np.float64]) -> float:
    """Return α^s of Eq. 5: how likely a draft that follows `p_s` equals the target token, which follows `p_t`.

    Both have one shape and sum to 1. With p_t = η^l p^l + η^r p^r, Σ min(p^l, p_t) is the paper's 1 − η^r δ; written
    against p_t it also holds for distributions that temperature and top-p have changed.
    """
    return float(GAMMA * np.minimum(p_s, p_t).sum() + (1 - GAMMA) * (p_s @ p_t))


def latency(c_dec_l: float, c_dec_r: float, rtt: float, alpha_r: float) -> float:
    """Return Z^l of Eq. 7: the expected time per token while side l aggregates; exchange l and r for Z^r."""
    accepted = max(c_dec_l, c_dec_r)
    rejected = max(c_dec_l, c_dec_r + rtt)
    return alpha_r * accepted + (1 - alpha_r) * rejected


def latency_difference(c_dec_l: float, c_dec_r: float, rtt: float, alpha_l: float, alpha_r: float) -> float:
    """Return ΔZ = Z^l − Z^r (DRAGON Eq. 8) in seconds; it is positive where side r should aggregate."""
    j = c_dec_r - c_dec_l
    if c_dec_l <= c_dec_r - rtt:
        return (1 - alpha_r) * rtt
    if c_dec_l <= c_dec_r:
        return (1 - alpha_l) * j + (alpha_l - alpha_r) * rtt
    if c_dec_l <= c_dec_r + rtt:
        return (1 - alpha_r) * j + (alpha_l - alpha_r) * rtt
    return (alpha_l - 1) * rtt


def handing_over_gains(c_dec_l: float, c_dec_r: float, rtt: float) -> float:
    """Return the seconds saved if r aggregates the next step and no side drafts ahead, a case not in the paper.

    r begins that step half a round trip after l. Both drafts are at r once its own is made and l's has come,
    max(c_l, c_r) + rtt/2 after l began; at l, max(c_l, c_r + rtt) after.
    """
    return max(c_dec_l, c_dec_r + rtt) - (max(c_dec_l, c_dec_r) + rtt / 2)


@dataclass(slots=True)
class Scheduler:
    """Moving averages of what Eq. 8 needs; both sides keep one, so that either can decide once it aggregates."""

    rtt_s: float = 0.0
    c_dec: dict[Side, float] = field(default_factory=dict)
    alpha: dict[Side, float] = field(default_factory=dict)

    def observe(self, side: Side, c_dec: float, alpha: float) -> None:
        """Record one side's decode seconds and acceptance by Eq. 5 at a step."""
        self.c_dec[side] = self._average(self.c_dec.get(side, c_dec), c_dec)
        self.alpha[side] = self._average(self.accepted(side), alpha)

    def accepted(self, side: Side) -> float:
        """Return how often a side's drafts are accepted, as far as is known."""
        return self.alpha.get(side, _ALPHA)

    def next_side(self, l: Side, *, ahead: bool = True) -> Side:  # noqa: E741 # the paper's name
        """Return the side with the lower latency per token (Eq. 6); l where both are equal or nothing is known.

        `ahead`: whether the sides draft ahead, as the paper's do.
        """
        r = other(l)
        if l not in self.c_dec or r not in self.c_dec:
            return l
        times = self.c_dec[l], self.c_dec[r], self.rtt_s
        gain = latency_difference(*times, self.alpha[l], self.alpha[r]) if ahead else handing_over_gains(*times)
        return r if gain > 0 else l

    @staticmethod
    def _average(old: float, new: float) -> float:
        return (1 - _ZETA) * old + _ZETA * new
