"""The likelihoods of the question's tokens under each side's passages, sent once and compared between the sides."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hocket_bus.errors import BadMessage

from ...engine.runtime.likelihood import MAX_TOKENS, MINIMUM
from ...serving.search.passage_weights import MIN_PART, ROUNDS

_STEPS = 2_000  # to a nat: two bytes hold the log of any probability from MINIMUM on
_MAXIMUM = round(-math.log(MINIMUM) * _STEPS)


def steps_of(logs: NDArray[np.float64]) -> list[int]:
    """Return the integers that are sent and compared for natural logs in [log MINIMUM, 0], [tokens]."""
    steps: list[int] = np.clip(np.rint(-logs * _STEPS), 0, _MAXIMUM).astype(int).tolist()
    return steps


def encode(steps: list[int]) -> bytes:
    """Encode the steps as two bytes a token (big-endian)."""
    return np.array(steps, ">u2").tobytes()


def decode(payload: bytes) -> list[int]:
    """The steps in `payload`. Raises BadMessage."""
    if len(payload) % 2 or len(payload) > 2 * MAX_TOKENS:
        raise BadMessage("likelihoods of a partial token, or of too many")
    steps: list[int] = np.frombuffer(payload, ">u2").tolist()
    if max(steps, default=0) > _MAXIMUM:
        raise BadMessage("a likelihood below the minimum")
    return steps


def likelihood_ratio(device: list[int], cloud: list[int]) -> float:
    """The log of the device's part in the question over the cloud's; 0 where the two read it as other tokens."""
    return advantages([device, cloud])[0]


def advantages(parties: Sequence[list[int]]) -> list[float]:
    """The log of each party's part in the question over the last one's; 0 where some read it as other tokens.

    The parts are those of passage_weights.py, computed without numpy, since both sides of a session need the same ones.
    """
    first, *others = parties
    if any(len(other) != len(first) for other in others):
        return [0.0] * len(parties)
    ratios = [[math.exp((a - b) / _STEPS) for a, b in zip(first, other, strict=True)] for other in others]  # to first's
    found = _all([1.0 / len(parties)] * len(others))
    for _ in range(ROUNDS if first and others else 0):
        found = _all(_responsible(found, ratios))
    last = math.log(found[-1] + MIN_PART)
    return [math.log(part + MIN_PART) - last for part in found]


def _responsible(parts: list[float], ratios: list[list[float]]) -> list[float]:
    """Make one round of expectation maximisation; return all parts but the last."""
    sums = [
        parts[0] + math.fsum(part * ratio for part, ratio in zip(parts[1:], each, strict=True))
        for each in zip(*ratios, strict=True)
    ]
    weighed = [[1.0] * len(sums), *ratios[:-1]]
    return [
        math.fsum(part * ratio / total for ratio, total in zip(each, sums, strict=True)) / len(sums)
        for part, each in zip(parts, weighed, strict=False)
    ]


def _all(but_last: list[float]) -> list[float]:
    return [*but_last, 1.0 - math.fsum(but_last)]
