"""A clock of the time that a thread has really run, and detection of the machine's sleep."""

from __future__ import annotations

import time

SLEPT_S = 2.0
LONGEST_STEP_S = 0.5  # a thread that wakes at least so often


def suspended_s() -> float:
    """Return the seconds that this machine has slept since it was started, up to a constant."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)


class AwakeClock:
    """A clock of one thread: it stops while the machine sleeps and while the process is stopped."""

    def __init__(self) -> None:
        self.s = 0.0
        self._looked_s = time.monotonic()
        self._suspended_s = suspended_s()

    def step(self, now: float) -> bool:
        """Advance the clock to `now`, time.monotonic(), at every turn. Tell whether the machine slept meanwhile."""
        self.s += min(now - self._looked_s, LONGEST_STEP_S)
        self._looked_s = now
        before, self._suspended_s = self._suspended_s, suspended_s()
        return self._suspended_s - before > SLEPT_S
