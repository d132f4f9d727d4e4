"""Calibration of the gate on questions of which it is known whether home holds their evidence. Pure.

The threshold is the lowest whose risk, P(no evidence found at home | kept), is at most the one that is asked for, at
95 % confidence: kept questions without evidence would be as few as they are with probability 0.05 at most if the risk
were higher (an exact binomial test).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, lgamma, log

import numpy as np
from numpy.typing import NDArray

from .gate import Calibration, Inputs, metric

CONFIDENCE = 0.95
RISK = 0.2
RIDGE = 1.0  # pulls weights towards 0, as so much of a squared weight
STEPS = 50


def calibrate(scorer: str, given: Sequence[Inputs], found: Sequence[bool], risk: float = RISK) -> Calibration:
    """Fit the model, and choose the threshold; 1.0, which keeps nothing, where no threshold is good enough."""
    weights, bias = fit(given, found)
    unset = Calibration(scorer, weights, bias, 1.0)
    metrics = [metric(each, unset) for each in given]
    return unset._replace(threshold=choose(metrics, found, risk))


def fit(given: Sequence[Inputs], found: Sequence[bool]) -> tuple[Inputs, float]:
    """Fit weights and bias of a logistic model; both classes count alike.

    An input that would speak against evidence has weight 0, the strongest such first.
    """
    table, used = np.array(given, np.float64), list(range(len(Inputs.__annotations__)))
    while (weights := _newton(table[:, used], np.array(found, np.float64)))[:-1].min(initial=0.0) < 0.0:
        del used[int(weights[:-1].argmin())]
    fitted = dict(zip(used, map(float, weights[:-1]), strict=True))
    return Inputs(*(fitted.get(at, 0.0) for at in range(len(Inputs.__annotations__)))), float(weights[-1])


def _newton(table: NDArray[np.float64], labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the likeliest weights, and the bias."""
    rows = np.hstack([table, np.ones((len(table), 1))])
    counts = labels.sum(), len(labels) - labels.sum()
    balance = np.where(labels == 1, 0.5 / max(1.0, counts[0]), 0.5 / max(1.0, counts[1])) * len(labels)
    ridge = np.diag([RIDGE] * (rows.shape[1] - 1) + [1e-6])
    weights: NDArray[np.float64] = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        likely = 1.0 / (1.0 + np.exp(-(rows @ weights)))
        gradient = rows.T @ (balance * (labels - likely)) - ridge @ weights
        curvature = (rows * (balance * likely * (1 - likely))[:, None]).T @ rows + ridge
        step = np.linalg.solve(curvature, gradient)
        weights = weights + step
        if np.abs(step).max() < 1e-9:
            break
    return weights


def choose(metrics: Sequence[float], found: Sequence[bool], risk: float) -> float:
    """Return the lowest threshold whose kept questions pass the test; 1.0 where none does."""
    order = sorted(range(len(metrics)), key=lambda at: -metrics[at])
    best, missing = 1.0, 0
    for kept, at in enumerate(order, start=1):
        missing += not found[at]
        last_of_its_value = kept == len(order) or metrics[order[kept]] < metrics[at]
        if last_of_its_value and binomial_cdf(missing, kept, risk) <= 1 - CONFIDENCE:
            best = metrics[at]
    return best


def binomial_cdf(successes: int, trials: int, chance: float) -> float:
    """Return P(X ≤ successes) of a binomial X."""
    terms = (
        lgamma(trials + 1) - lgamma(k + 1) - lgamma(trials - k + 1) + k * log(chance) + (trials - k) * log(1 - chance)
        for k in range(successes + 1)
    )
    return min(1.0, sum(map(exp, terms)))
