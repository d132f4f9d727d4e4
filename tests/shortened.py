"""Cases of a law of which every run has the first ones, and `make test-slow` the others."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def shortened(cases: Iterable[object], first: int) -> list[object]:
    """The cases; those behind the first `first` ones are slow."""
    return [case if at < first else pytest.param(case, marks=pytest.mark.slow) for at, case in enumerate(cases)]
