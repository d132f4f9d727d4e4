"""A daemon that says nothing but its greeting, for each test that wants one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import pytest
from silent import Silent


@pytest.fixture
def daemon() -> Iterator[Silent]:
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        made = Silent(f"ipc://{folder}/x")
        yield made
        made.close()
