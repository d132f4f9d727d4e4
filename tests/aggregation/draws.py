"""Pairs of distributions to draw from, and the chi-square test of what was drawn."""

from __future__ import annotations

import numpy as np
from scipy import stats

from hocket_daemon.engine.sampling.distribution import Distribution, truncate

DRAWS = 4000
PLAIN = {"temperature": 1.0, "top_p": 1.0}


def random_distribution(rng: np.random.Generator, ids: np.ndarray, spread: float) -> Distribution:
    weights = np.exp(rng.normal(size=len(ids)) * spread)
    full = np.zeros(int(ids.max()) + 1)
    full[ids] = weights / weights.sum()
    return truncate(full, 1.0)


def p_value(tokens: list[int], ids: np.ndarray, probabilities: np.ndarray) -> float:
    """Chi-square of draws against probabilities; rare ids are pooled so that every cell expects at least 8."""
    counts = np.array([tokens.count(int(i)) for i in ids], dtype=float)
    assert counts.sum() == len(tokens), "a token outside the support"
    expected = probabilities * len(tokens)
    order = np.argsort(expected)
    counts, expected = counts[order], expected[order]
    cells: list[tuple[float, float]] = []
    for count, expect in zip(counts, expected, strict=True):
        if cells and cells[-1][1] < 8:
            cells[-1] = (cells[-1][0] + count, cells[-1][1] + expect)
        else:
            cells.append((count, expect))
    if len(cells) > 1 and cells[-1][1] < 8:
        last = cells.pop()
        cells[-1] = (cells[-1][0] + last[0], cells[-1][1] + last[1])
    if len(cells) == 1:
        return 1.0
    observed, wanted = np.array(cells).T
    return float(stats.chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue)


def cases(number: int) -> list[tuple[str, Distribution, Distribution, tuple[float | None, float | None]]]:
    """Pairs of distributions: overlapping, disjoint, one-token, and η at 0 and 1."""
    rng = np.random.default_rng(11)
    made = []
    for i in range(number):
        ids = np.sort(rng.choice(3000, size=rng.integers(2, 60), replace=False))
        kind = ("same ids", "disjoint", "one token", "eta 0", "eta 1", "partly shared")[i % 6]
        log_h: tuple[float | None, float | None] = (float(rng.normal()), float(rng.normal()))
        device, cloud = random_distribution(rng, ids, 2.0), random_distribution(rng, ids, 2.0)
        if kind == "disjoint":
            cloud = random_distribution(rng, ids + 3001, 1.0)
        elif kind == "one token":
            cloud = random_distribution(rng, ids[:1], 1.0)
        elif kind == "eta 0":
            log_h = (None, 0.0)
        elif kind == "eta 1":
            log_h = (0.0, None)
        elif kind == "partly shared":
            cloud = random_distribution(rng, ids[len(ids) // 2 :], 1.0)
        made.append((kind, device, cloud, log_h))
    return made
