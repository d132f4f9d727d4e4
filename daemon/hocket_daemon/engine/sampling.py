"""Drawing a token by an exponential race: one noise, a function of seed, step and id, decides for everybody.

For any distribution q and e ~ Exp(1) independent over ids, argmin_v e(v)/q(v) is distributed as q.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .distribution import Distribution
from .noise import exponential


@dataclass(frozen=True, slots=True)
class Rule:
    """How a session draws: temperature and top-p act after mixing; temperature 0 is greedy."""

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
        # The floor keeps every weight positive, so that the race divides by no zero.
        weights = np.exp(np.maximum(np.log(weights / weights.max()) / rule.temperature, -700.0))
    return _nucleus(ids, weights, rule.top_p) if rule.top_p < 1 else (ids, weights)


def race(seed: int, step: int, ids: NDArray[np.int64], weights: NDArray[np.float64]) -> int:
    """The token that wins the race over positive `weights` [ids] on ascending `ids`; ties go to the lowest id."""
    return int(ids[(exponential(seed, step, ids) / weights).argmin()])


def draw(rule: Rule, step: int, ids: NDArray[np.int64], weights: NDArray[np.float64]) -> int:
    """The winner of the race over `weights` [ids] (not negative, some positive) as the rule shapes them."""
    return race(rule.seed, step, *shape(rule, ids, weights))


def sample(rule: Rule, step: int, distribution: Distribution) -> int:
    """The race over a distribution as encoded."""
    return draw(rule, step, distribution.ids, distribution.probabilities)


def _nucleus(
    ids: NDArray[np.int64], weights: NDArray[np.float64], top_p: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    order = np.argsort(-weights, kind="stable")
    mass = np.cumsum(weights[order])
    kept = np.sort(order[: int(np.searchsorted(mass, top_p * mass[-1])) + 1])
    return ids[kept], weights[kept]
