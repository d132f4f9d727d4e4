"""How long a thread has really run, and whether the machine slept meanwhile."""

from __future__ import annotations

import time

SLEPT_S = 2.0
LONGEST_STEP_S = 0.5  # a thread that wakes at least so often


def suspended_s() -> float:
    """Seconds this machine has been asleep since it was started, up to a constant."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)


class AwakeClock:
    """A clock of one thread: it stands still while the machine sleeps and while the process is stopped."""

    def __init__(self) -> None:
        self.s = 0.0
        self._looked_s = time.monotonic()
        self._suspended_s = suspended_s()

    def step(self, now: float) -> bool:
        """Call it at every turn; `now` is time.monotonic(). Whether the machine slept since the last turn."""
        self.s += min(now - self._looked_s, LONGEST_STEP_S)
        self._looked_s = now
        before, self._suspended_s = self._suspended_s, suspended_s()
        return self._suspended_s - before > SLEPT_S
