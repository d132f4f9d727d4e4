"""A gateway that the tests of a file share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import Served, served


@pytest.fixture(scope="module")
def front(tiny_models: dict[str, Path]) -> Iterator[Served]:
    """A pair and its gateway, at full speed."""
    with served(tiny_models) as there:
        yield there
