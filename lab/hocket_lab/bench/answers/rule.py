"""A rule that gives the probability that something holds, from a few features: fitted, cut at a bound, and checked.

It is a logistic regression without negative coefficients: more of any feature never lowers the probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]  # [cases, features], or one number a case
Truth = NDArray[np.bool_]  # one a case

RIDGE = 1.0  # of the squares of the coefficients, of features in units of their deviations
STEPS = 50  # of Newton's, of which a few are needed


@dataclass(frozen=True)
class Rule:
    """The probability 1 / (1 + exp(-(intercept + coefficients · features))); no coefficient is negative."""

    intercept: float
    coefficients: tuple[float, ...]

    def of(self, features: Table) -> Table:
        """Return the probability of each case, in (0, 1)."""
        return np.asarray(_logistic(self.intercept + features @ np.array(self.coefficients)))


def fitted(features: Table, holds: Truth) -> Rule:
    """Return the likeliest rule under the penalty RIDGE, where both outcomes count alike however frequent each is.

    Features that would get a negative coefficient are left out, the most negative one first.
    """
    deviations = np.maximum(features.std(axis=0), 1e-9)
    kept = list(range(features.shape[1]))
    while True:
        found = _newton(features[:, kept] / deviations[kept], holds)
        if not kept or found[1:].min() >= 0.0:
            break
        del kept[int(found[1:].argmin())]
    coefficients = np.zeros(features.shape[1])
    coefficients[kept] = found[1:] / deviations[kept]
    return Rule(float(found[0]), tuple(map(float, coefficients)))


def _newton(scaled: Table, holds: Truth) -> Table:
    """Return intercept and coefficients by Newton's method; columns of `scaled` have standard deviations of 1."""
    columns = np.column_stack([np.ones(len(scaled)), scaled])
    counts = np.where(holds, 0.5 / max(1, holds.sum()), 0.5 / max(1, (~holds).sum())) * len(holds)
    ridge = np.diag([1e-6] + [RIDGE] * scaled.shape[1])
    found = np.zeros(columns.shape[1])
    for _ in range(STEPS):
        expected = _logistic(columns @ found)
        slope = columns.T @ (counts * (holds - expected)) - ridge @ found
        curvature = (columns * (counts * expected * (1 - expected))[:, None]).T @ columns + ridge
        found += np.linalg.solve(curvature, slope)
    return found


def _logistic(logits: Table) -> Table:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * logits)))


def bound(scores: Table, holds: Truth, lost: float) -> float:
    """Return the largest bound below which at most the share `lost`, in [0, 1), of the cases that hold lies."""
    ranked = np.sort(scores[holds])
    return float(ranked[int(lost * len(ranked))]) if len(ranked) else 0.0


def area(scores: Table, holds: Truth) -> float:
    """Return the probability that a case that holds outscores one that does not, ties counting half; 0.5 is chance."""
    apart = scores[holds][:, None] - scores[~holds]
    return float((apart > 0).mean() + 0.5 * (apart == 0).mean()) if apart.size else 0.5


@dataclass(frozen=True)
class Bin:
    """Cases with probabilities in [low, low + width): their number, mean probability and the share that holds."""

    low: float
    cases: int
    said: float
    held: float


def reliability(probabilities: Table, holds: Truth, bins: int) -> Sequence[Bin]:
    """Return the bins of equal width over [0, 1] that have cases."""
    at = np.minimum((probabilities * bins).astype(int), bins - 1)
    return [
        Bin(number / bins, int(mine.sum()), float(probabilities[mine].mean()), float(holds[mine].mean()))
        for number in range(bins)
        if (mine := at == number).any()
    ]
