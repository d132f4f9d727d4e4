"""Which side explains the question: its tokens, as each side's passages make them likely, told once and compared."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hocket_bus.errors import BadMessage

from ..engine.runtime.likelihood import MAX_TOKENS, MINIMUM
from ..serving.passage_weights import MIN_PART, ROUNDS

_STEPS = 2_000  # to a nat: two bytes hold the log of any probability from MINIMUM on
_MAXIMUM = round(-math.log(MINIMUM) * _STEPS)


def steps_of(logs: NDArray[np.float64]) -> list[int]:
    """What travels of natural logs in [log MINIMUM, 0], [tokens], and what is compared."""
    steps: list[int] = np.clip(np.rint(-logs * _STEPS), 0, _MAXIMUM).astype(int).tolist()
    return steps


def encode(steps: list[int]) -> bytes:
    """Two bytes a token (big-endian)."""
    return np.array(steps, ">u2").tobytes()


def decode(payload: bytes) -> list[int]:
    """The steps in `payload`. Raises BadMessage."""
    if len(payload) % 2 or len(payload) > 2 * MAX_TOKENS:
        raise BadMessage("likelihoods of half a token, or of too many")
    steps: list[int] = np.frombuffer(payload, ">u2").tolist()
    if max(steps, default=0) > _MAXIMUM:
        raise BadMessage("a likelihood below the least one")
    return steps


def likelihood_ratio(device: list[int], cloud: list[int]) -> float:
    """The log of the device's part in the question over the cloud's; 0 where the two read it as other tokens.

    The parts are those of passage_weights.py, computed without numpy, since both sides need the same ones.
    """
    if len(device) != len(cloud):
        return 0.0
    ratios = [math.exp((a - b) / _STEPS) for a, b in zip(device, cloud, strict=True)]  # of the cloud's to the device's
    part = 0.5
    for _ in range(ROUNDS if ratios else 0):
        part = math.fsum(part / (part + (1.0 - part) * ratio) for ratio in ratios) / len(ratios)
    return math.log(part + MIN_PART) - math.log(1.0 - part + MIN_PART)
