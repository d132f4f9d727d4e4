"""Drawing a token by an exponential race: one noise, a function of seed, step and id, decides for everybody.

For any distribution q and e ~ Exp(1) independent over ids, argmin_v e(v)/q(v) is distributed as q. The noise is a
counter-based generator: nothing to synchronise, evaluated only where a distribution has mass. Its bits, constants and
test vectors stand in docs/protocol.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .distribution import Distribution


@dataclass(frozen=True, slots=True)
class Rule:
    """The sampling parameters of a session: temperature and top-p act after mixing; temperature 0 is greedy."""

    seed: int
    temperature: float
    top_p: float


def shape(
    rule: Rule, ids: NDArray[np.int64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The ids that temperature and top-p leave of `weights` [ids] (not negative, some positive), and their weights."""
    if rule.temperature == 0:
        best = int(weights.argmax())
        return ids[best : best + 1], weights[best : best + 1]
    if np.count_nonzero(weights) < len(weights):
        ids, weights = ids[weights > 0], weights[weights > 0]
    if rule.temperature != 1:
        # The floor keeps every weight positive, so that the race divides by no zero; of what overflows, too.
        with np.errstate(over="ignore"):
            weights = np.exp(np.maximum(np.log(weights / weights.max()) / rule.temperature, -700.0))
    return _nucleus(ids, weights, rule.top_p) if rule.top_p < 1 else (ids, weights)


def race(seed: int, step: int, ids: NDArray[np.int64], weights: NDArray[np.float64]) -> int:
    """The token that wins the race over positive `weights` [ids] on ascending `ids`; ties go to the lowest id."""
    return int(ids[(exponential(seed, step, ids) / weights).argmin()])


def draw(rule: Rule, step: int, ids: NDArray[np.int64], weights: NDArray[np.float64]) -> int:
    """The winner of the race over `weights` [ids] (not negative, some positive) as the rule shapes them."""
    return race(rule.seed, step, *shape(rule, ids, weights))


def sample(rule: Rule, step: int, distribution: Distribution) -> int:
    """Draw a token by the race over a distribution as encoded."""
    return draw(rule, step, distribution.ids, distribution.probabilities)


def _nucleus(
    ids: NDArray[np.int64], weights: NDArray[np.float64], top_p: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    order = np.argsort(-weights, kind="stable")
    mass = np.cumsum(weights[order])
    kept = np.sort(order[: int(np.searchsorted(mass, top_p * mass[-1])) + 1])
    return ids[kept], weights[kept]


_GOLDEN, _STEP = 0x9E3779B97F4A7C15, 0xD1342543DE82EF95
_MIX_1, _MIX_2 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_64_BITS = (1 << 64) - 1
_COIN = 0xA0761D6478BD642F
_30, _27, _31, _11, _ARRAY_MIX_1, _ARRAY_MIX_2 = (np.uint64(n) for n in (30, 27, 31, 11, _MIX_1, _MIX_2))


def exponential(seed: int, step: int, ids: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return Exp(1) variates, shape of `ids`, for vocabulary ids at step `step` of the session with `seed`."""
    key = _mix_key(seed + _GOLDEN * (step + 1) & _64_BITS) ^ (_STEP * (step + 1) & _64_BITS)
    bits = _mix(_mix(ids.astype(np.uint64) * np.uint64(_GOLDEN) + np.uint64(key + _GOLDEN & _64_BITS)))
    # 53 bits, centred: u lies in (0, 1), so that its logarithm is finite and never zero.
    uniform = ((bits >> _11).astype(np.float64) + 0.5) * 2.0**-53
    return -np.log(uniform)


def coin(seed: int, number: int, sides: int) -> int:
    """Return the public coin of step `number`, uniform in [0, sides), a power of 2 up to 2^53; no token's noise."""
    key = _mix_key(seed + _GOLDEN * (number + 1) & _64_BITS) ^ _COIN
    return (_mix_key(_mix_key(key)) >> 11) * sides >> 53


def _mix(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finaliser (Steele, Lea and Flood 2014); products of arrays are modulo 2^64."""
    mixed = (value ^ (value >> _30)) * _ARRAY_MIX_1
    mixed = (mixed ^ (mixed >> _27)) * _ARRAY_MIX_2
    return mixed ^ (mixed >> _31)


def _mix_key(value: int) -> int:
    """Return the finaliser of one number; arrays would take ten times as long."""
    mixed = (value ^ value >> 30) * _MIX_1 & _64_BITS
    mixed = (mixed ^ mixed >> 27) * _MIX_2 & _64_BITS
    return mixed ^ mixed >> 31
