"""Weights that put the candidate that holds before the others of its question, and probabilities of weighed sums."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]  # [candidates, features], or one number a candidate
Truth = NDArray[np.bool_]  # one a candidate

RIDGE = 1e-3  # a question
STEPS = 50  # of Newton's


def weighed(features: Sequence[Table], holds: Sequence[Truth]) -> Table:
    """Fit weights of features, one table a question: those under which a candidate that holds is likeliest drawn.

    A candidate is drawn with a probability that grows exponentially with its weighed sum (conditional logit, McFadden
    1974). Questions all of whose candidates are alike tell nothing.
    """
    telling = [(table, held) for table, held in zip(features, holds, strict=True) if held.any() and not held.all()]
    found = np.zeros(features[0].shape[1])
    for _ in range(STEPS if telling else 0):
        slope, curvature = -RIDGE * len(telling) * found, RIDGE * len(telling) * np.eye(len(found))
        for table, held in telling:
            (mean, spread), (right, _) = _moments(table, found), _moments(table[held], found)
            slope += right - mean
            curvature += spread  # without the spread of what holds the step is shorter, and never goes too far
        found += np.linalg.solve(curvature, slope)
    return found


def _moments(table: Table, weights: Table) -> tuple[Table, Table]:
    """Return the mean and covariance of what is drawn."""
    sums = table @ weights
    drawn = np.exp(sums - sums.max())
    drawn /= drawn.sum()
    mean = drawn @ table
    apart = table - mean
    return mean, (apart * drawn[:, None]).T @ apart


def scaled(sums: Table, holds: Truth) -> tuple[float, float]:
    """Fit scale and intercept of the likeliest probabilities, 1 / (1 + exp(-(scale · sum + intercept)))."""
    columns = np.column_stack([sums, np.ones(len(sums))])
    found = np.zeros(2)
    for _ in range(STEPS):
        expected = 0.5 * (1.0 + np.tanh(0.5 * columns @ found))
        curvature = (columns * (expected * (1.0 - expected))[:, None]).T @ columns + 1e-6 * np.eye(2)
        found += np.linalg.solve(curvature, columns.T @ (holds - expected) - 1e-6 * found)
    return float(found[0]), float(found[1])
