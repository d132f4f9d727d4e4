"""The profiler's arithmetic: the fit finds what made the timings, the slope follows, the intercept stays."""

from __future__ import annotations

import numpy as np
import pytest

from hocket_bus.errors import BadRequest
from hocket_daemon.profiling.profiler import MIN_POINTS, ZETA, DecodeTime, Profiler, fit

CONTEXTS = np.arange(100, 1000)


@pytest.mark.parametrize(("slope", "intercept"), [(2e-5, 0.02), (0.0, 0.004), (1e-4, 0.0)])
def test_the_fit_recovers_known_coefficients_from_noisy_timings(slope: float, intercept: float) -> None:
    """Within five standard errors of least squares."""
    rng = np.random.default_rng(5)
    noise_s = 1e-3
    seconds = slope * CONTEXTS + intercept + rng.normal(0, noise_s, len(CONTEXTS))
    fitted = fit(CONTEXTS, seconds)
    spread = CONTEXTS - CONTEXTS.mean()
    slope_error = noise_s / np.sqrt(spread @ spread)

    assert fitted.k_a / fitted.k_b == pytest.approx(slope, abs=5 * slope_error)
    assert fitted.k_c == pytest.approx(intercept, abs=5 * slope_error * np.sqrt(np.mean(CONTEXTS**2.0)))
    assert fitted.k_a / fitted.k_b == pytest.approx(np.polyfit(CONTEXTS, seconds, 1)[0])


@pytest.mark.parametrize("contexts", [[], list(range(MIN_POINTS - 1)), [7] * 1000])
def test_too_few_lengths_are_refused_with_what_to_do(contexts: list[int]) -> None:
    """A line through a few points, or through one length again and again, says nothing."""
    with pytest.raises(BadRequest, match=rf"a fit needs {MIN_POINTS}: raise 'context'"):
        fit(contexts, [0.01] * len(contexts))


def test_the_update_is_the_papers_and_leaves_the_intercept() -> None:
    """((1−ζ)k_a + ζ(c−k_c)t) / ((1−ζ)k_b + ζt²)."""
    before = DecodeTime(k_a=3.0, k_b=90_000.0, k_c=0.01)
    after = before.updated(200, 0.05)
    expected = ((1 - ZETA) * 3.0 + ZETA * (0.05 - 0.01) * 200) / ((1 - ZETA) * 90_000.0 + ZETA * 200**2)

    assert after.k_a / after.k_b == pytest.approx(expected)
    assert after.k_c == before.k_c


def test_steps_as_predicted_change_nothing() -> None:
    """An observation on the line leaves the slope where it is."""
    model = fit(CONTEXTS, 2e-5 * CONTEXTS + 0.02)
    moved = model.updated(300, model.at(300))

    assert moved.k_a / moved.k_b == pytest.approx(model.k_a / model.k_b)


def test_the_profiler_follows_a_machine_that_became_half_as_fast() -> None:
    """Twice the time from one step on: within 15 % again after 40 steps, and in the median of 200."""
    profiler = Profiler()
    profiler.begin({2: fit(CONTEXTS, 1e-5 * CONTEXTS + 0.004)})
    rng = np.random.default_rng(1)
    errors = []
    for t in range(150, 350):
        measured = 2 * (1e-5 * t + 0.004) * rng.uniform(0.95, 1.05)
        profiler.observe(2, t, measured)
        errors.append(abs(profiler.predicted_s - measured) / measured)

    assert errors[0] > 0.4
    assert max(errors[40:]) < 0.15
    assert profiler.error == pytest.approx(np.median(errors))
    assert profiler.error < 0.15


def test_a_single_step_that_was_kept_waiting_moves_nothing() -> None:
    """The median of three is learnt; the error counts the step all the same."""
    profiler = Profiler()
    profiler.begin({1: fit(CONTEXTS, 1e-5 * CONTEXTS + 0.004)})
    for t, waited_s in ((150, 0.0), (151, 0.0), (152, 1.0), (153, 0.0)):
        following = profiler.observe(1, t, 1e-5 * t + 0.004 + waited_s)

    assert following == pytest.approx(1e-5 * 154 + 0.004, rel=0.01)
    assert profiler.steps == 4


def test_without_an_offline_stage_the_time_is_a_moving_average() -> None:
    """The first step predicts nothing; from then on the latest count most, whatever the context."""
    profiler = Profiler()

    assert profiler.observe(2, 100, 0.02) == 0.02
    assert (profiler.steps, profiler.error) == (0, 0.0)
    assert profiler.observe(2, 900, 0.03) == pytest.approx(0.02)
    assert profiler.observe(2, 500, 0.03) == pytest.approx((1 - ZETA) * 0.02 + ZETA * 0.03)
    assert profiler.predicted_s == pytest.approx(0.02)
    assert not profiler.knows(2)


def test_rows_are_learnt_apart_and_the_same_fit_again_keeps_what_was_learnt() -> None:
    """Two rows and one row take different times; a new fit starts anew."""
    slow, fast = (fit(CONTEXTS, c + 0 * CONTEXTS) for c in (0.05, 0.01))
    profiler = Profiler()
    profiler.begin({1: fast, 2: slow})
    for _ in range(50):
        learnt = profiler.observe(2, 200, 0.08)
    profiler.begin({1: fast, 2: slow})

    assert profiler.observe(2, 200, 0.08) == pytest.approx(learnt, rel=1e-3)
    assert profiler.observe(1, 200, 0.01) == pytest.approx(0.01)
    profiler.begin({2: fast})
    profiler.observe(2, 200, 0.01)
    assert profiler.predicted_s == pytest.approx(0.01)
