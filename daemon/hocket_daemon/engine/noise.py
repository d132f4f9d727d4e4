"""The one noise of both sides: e(seed, step, id), an Exp(1) variate that is a pure function of its arguments.

A counter-based generator: nothing to synchronise, evaluated only where a distribution has mass.
Bits, constants and test vectors stand in docs/protocol.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_GOLDEN, _STEP = 0x9E3779B97F4A7C15, 0xD1342543DE82EF95
_MIX_1, _MIX_2 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_64_BITS = (1 << 64) - 1
_30, _27, _31, _11, _ARRAY_MIX_1, _ARRAY_MIX_2 = (np.uint64(n) for n in (30, 27, 31, 11, _MIX_1, _MIX_2))


def exponential(seed: int, step: int, ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """Exp(1) variates for the vocabulary ids `ids` at step `step` of the session with `seed`. Shape of `ids`."""
    key = _mix_key(seed + _GOLDEN * (step + 1) & _64_BITS) ^ (_STEP * (step + 1) & _64_BITS)
    bits = _mix(_mix(ids.astype(np.uint64) * np.uint64(_GOLDEN) + np.uint64(key + _GOLDEN & _64_BITS)))
    # 53 bits, centred: u lies in (0, 1), so that its logarithm is finite and never zero.
    uniform = ((bits >> _11).astype(np.float64) + 0.5) * 2.0**-53
    return -np.log(uniform)


def _mix(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finaliser (Steele, Lea and Flood 2014); products of arrays are modulo 2^64."""
    mixed = (value ^ (value >> _30)) * _ARRAY_MIX_1
    mixed = (mixed ^ (mixed >> _27)) * _ARRAY_MIX_2
    return mixed ^ (mixed >> _31)


def _mix_key(value: int) -> int:
    """The same for one number, which arrays take ten times as long for."""
    mixed = (value ^ value >> 30) * _MIX_1 & _64_BITS
    mixed = (mixed ^ mixed >> 27) * _MIX_2 & _64_BITS
    return mixed ^ mixed >> 31
