"""How long tests wait for what must come. Only what hangs takes so long, on any machine."""

from __future__ import annotations

import time
from collections.abc import Callable

WAIT_S = 300.0


def until(holds: Callable[[], bool], every_s: float = 0.005, said: Callable[[], str] = str) -> None:
    """Wait for a state that no event announces; look less often where a look takes what others need to come there.

    `said` tells what there is instead, where it does not come.
    """
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline, said()
        time.sleep(every_s)
