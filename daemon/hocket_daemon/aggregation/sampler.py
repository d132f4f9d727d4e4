"""The coupled sampler: a target token and two drafts from one noise (docs/aggregation.md).

For any distribution q and e ~ Exp(1) independent over ids, argmin_v e(v)/q(v) is distributed as q (the exponential
race). Both sides and the target race with the same e, so similar distributions pick the same token.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .distribution import Distribution
from .noise import exponential

_ETA_STEPS = 1 << 24


@dataclass(frozen=True, slots=True)
class Rule:
    """How a session draws: temperature and top-p act after mixing; temperature 0 is greedy."""

    seed: int
    temperature: float
    top_p: float


def eta_device(log_h_device: float | None, log_h_cloud: float | None) -> float:
    """The device's share of the mixture (paper §4.1, A.1), rounded to a multiple of 2^-24; None means no documents."""
    if log_h_device is None or log_h_cloud is None:
        return float(log_h_device is not None or log_h_cloud is None)
    gap = max(-700.0, min(700.0, log_h_cloud - log_h_device))
    return round(_ETA_STEPS / (1.0 + math.exp(gap))) / _ETA_STEPS


def mix(device: Distribution, cloud: Distribution, eta: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """p_t = η p_device + (1 − η) p_cloud on the union of both supports, ids ascending. Always device first."""
    both = np.concatenate((device.ids, cloud.ids))
    order = both.argsort(kind="stable")  # two ascending runs: one merge
    ids = both[order]
    shares = np.concatenate((eta * device.probabilities, (1.0 - eta) * cloud.probabilities))[order]
    shared = (ids[1:] == ids[:-1]).nonzero()[0]
    shares[shared] += shares[shared + 1]
    kept = np.ones(len(ids), dtype=bool)
    kept[shared + 1] = False
    return ids[kept], shares[kept]


def shape(
    rule: Rule, ids: NDArray[np.int64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """What temperature and top-p make of `weights` (not negative, some positive): the ids left, and their weights."""
    if rule.temperature == 0:
        best = int(weights.argmax())
        return ids[best : best + 1], weights[best : best + 1]
    if np.count_nonzero(weights) < len(weights):
        ids, weights = ids[weights > 0], weights[weights > 0]
    if rule.temperature != 1:
        # The floor keeps every weight positive, so that the race divides by no zero.
        weights = np.exp(np.maximum(np.log(weights / weights.max()) / rule.temperature, -700.0))
    return _nucleus(ids, weights, rule.top_p) if rule.top_p < 1 else (ids, weights)


def race(seed: int, step: int, ids: NDArray[np.int64], weights: NDArray[np.float64]) -> int:
    """The token that wins the race over positive `weights` on ascending `ids`; ties go to the lowest id."""
    return int(ids[(exponential(seed, step, ids) / weights).argmin()])


def draw(rule: Rule, step: int, ids: NDArray[np.int64], weights: NDArray[np.float64]) -> int:
    """The winner of the race over `weights` (not negative, some positive) as the rule shapes them."""
    return race(rule.seed, step, *shape(rule, ids, weights))


def draft(rule: Rule, step: int, distribution: Distribution) -> int:
    """A side's draft: the same race over its own distribution as encoded."""
    return draw(rule, step, distribution.ids, distribution.probabilities)


def target(
    rule: Rule, step: int, device: Distribution, cloud: Distribution, log_h: tuple[float | None, float | None]
) -> int:
    """The target token, a pure function of what both sides hold. `log_h` is (device, cloud)."""
    return draw(rule, step, *mix(device, cloud, eta_device(*log_h)))


def _nucleus(
    ids: NDArray[np.int64], weights: NDArray[np.float64], top_p: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    order = np.argsort(-weights, kind="stable")
    mass = np.cumsum(weights[order])
    kept = np.sort(order[: int(np.searchsorted(mass, top_p * mass[-1])) + 1])
    return ids[kept], weights[kept]
