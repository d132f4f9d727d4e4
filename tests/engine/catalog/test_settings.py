"""Laws of a model's settings."""

import os

import pytest

from exact import exact


@pytest.mark.parametrize(("cores", "threads"), [(None, 1), (1, 1), (2, 1), (3, 1), (8, 4)])
def test_a_model_takes_half_of_the_cores(monkeypatch: pytest.MonkeyPatch, cores: int | None, threads: int) -> None:
    """The two sides of a pair on one machine get in each other's way otherwise; what is set is taken."""
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert exact(threads=0).compute_threads == threads
    assert exact(threads=3).compute_threads == 3
