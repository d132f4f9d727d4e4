"""How long tests wait for what must come. Only what hangs takes so long, on any machine."""

from __future__ import annotations

import time
from collections.abc import Callable

WAIT_S = 300.0


def until(holds: Callable[[], bool]) -> None:
    """Wait for a state that no event announces."""
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)
