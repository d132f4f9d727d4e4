"""Two sides of a question, for laws of the answer and of its sources."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from two_sides import CLOCKED, Clock, Sides, ask


@pytest.fixture
def sides(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Sides]:
    """Two sides of a question whose time stands still but for the test; options are those of `ask` and Sides."""
    clock = Clock()
    for module in CLOCKED:
        monkeypatch.setattr(module, "time", clock)

    def made(asked: object = None, **options: object) -> Sides:
        return Sides(asked or ask(), clock, **options)  # type: ignore[arg-type]

    return made
