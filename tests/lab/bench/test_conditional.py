"""Laws of the weights that put what holds first, and of the probabilities that are made of their sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket_lab.bench.searching.conditional import scaled, weighed

WEIGHTS = np.array([2.0, -1.0, 0.5])


def drawn(questions: int, candidates: int = 6) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Candidates of questions, one of each drawn by WEIGHTS."""
    rng = np.random.default_rng(3)
    tables = [rng.normal(size=(candidates, len(WEIGHTS))) for _ in range(questions)]
    holds = []
    for table in tables:
        parts = np.exp(table @ WEIGHTS)
        holds.append(np.arange(candidates) == rng.choice(candidates, p=parts / parts.sum()))
    return tables, holds


def test_weights_are_found_again() -> None:
    """Recover the weights by which enough questions were drawn, within a few standard errors."""
    assert weighed(*drawn(2_000)) == pytest.approx(WEIGHTS, abs=0.2)


@given(st.floats(-5, 5))
@settings(max_examples=20)
def test_what_all_candidates_of_a_question_share_tells_nothing(shift: float) -> None:
    """Nor does a question all of whose candidates hold, or none."""
    tables, holds = drawn(20)
    moved = [table + shift * (at % 3) for at, table in enumerate(tables)]
    every, none = np.ones(6, dtype=bool), np.zeros(6, dtype=bool)
    found = weighed([*moved, tables[0], tables[1]], [*holds, every, none])
    assert found == pytest.approx(weighed(tables, holds), abs=1e-6)


def test_probabilities_hold_as_often_as_they_say() -> None:
    """Scale and intercept are found again from what holds."""
    rng = np.random.default_rng(5)
    sums = rng.normal(size=20_000)
    holds = rng.random(20_000) < 1 / (1 + np.exp(-(1.5 * sums - 0.7)))
    assert scaled(sums, holds) == pytest.approx((1.5, -0.7), abs=0.1)
