"""The one noise of both sides: e(seed, step, id), an Exp(1) variate that is a pure function of its arguments.

A counter-based generator: nothing to synchronise, evaluated only where a distribution has mass.
Bits, constants and test vectors stand in docs/protocol.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_STEP = np.uint64(0xD1342543DE82EF95)


def exponential(seed: int, step: int, ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """Exp(1) variates for the vocabulary ids `ids` at step `step` of the session with `seed`. Shape of `ids`."""
    with np.errstate(over="ignore"):  # arithmetic modulo 2^64 is meant
        key = _mix(np.uint64(seed) + _GOLDEN * np.uint64(step + 1)) ^ (_STEP * np.uint64(step + 1))
        bits = _mix(_mix(key + _GOLDEN * (ids.astype(np.uint64) + np.uint64(1))))
    # 53 bits, centred: u lies in (0, 1), so that its logarithm is finite and never zero.
    uniform = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return -np.log(uniform)


def _mix(value: np.uint64 | NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finaliser (Steele, Lea and Flood 2014)."""
    mixed = np.asarray(value, dtype=np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX_1
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX_2
    return mixed ^ (mixed >> np.uint64(31))
