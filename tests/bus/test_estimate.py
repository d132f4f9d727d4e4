"""Moving figures: a stray measurement is ignored, a lasting change is followed."""

from __future__ import annotations

import pytest

from hocket_bus.estimate import Estimate


def test_nothing_is_known_at_first() -> None:
    """Both figures are 0."""
    estimate = Estimate()

    assert (estimate.now, estimate.average) == (0.0, 0.0)


def test_a_stray_measurement_is_ignored_and_a_lasting_one_followed_at_its_second() -> None:
    """The median of three, so a single stall changes nothing, and two echoes after a step suffice."""
    estimate = Estimate()
    seen = []
    for measured in (20, 21, 900, 20, 200, 201, 199):
        estimate.add(measured)
        seen.append(estimate.now)

    assert seen == [20, 20, 21, 21, 200, 200, 200]


def test_the_average_moves_slowly_between_the_old_and_the_new() -> None:
    """After a step it lies in between, and in the end it arrives."""
    estimate = Estimate()
    for _ in range(50):
        estimate.add(20.0)
    assert estimate.average == pytest.approx(20.0)
    estimate.add(200.0)
    assert 20 < estimate.average < 40
    for _ in range(200):
        estimate.add(200.0)
    assert estimate.average == pytest.approx(200.0, rel=0.01)
