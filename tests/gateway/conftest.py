"""A gateway and a browser that the tests of a file share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import browser as browsers
import pytest
from browser import Browser
from paging import opened
from serving import TOKENS, Served, served


@pytest.fixture(scope="module")
def front(tiny_models: dict[str, Path]) -> Iterator[Served]:
    """A pair and its gateway, at full speed."""
    with served(tiny_models, max_tokens=TOKENS) as there:
        yield there


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browsers.browser() as there:
        yield there


@pytest.fixture
def page(front: Served, window: Browser) -> Iterator[Browser]:
    """The page without a history; it complains of nothing up to the test's end."""
    opened(window, front.url)
    yield window
    assert window.complaints() == []
