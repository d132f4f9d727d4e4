"""Even pacing of tokens at the speed of a reader, however they come. Pure: times are passed in."""

from __future__ import annotations


class Pace:
    """A limiter of at most `rate` tokens a second; 0: no limit."""

    def __init__(self, rate: float) -> None:
        self._gap_s = 1 / rate if rate else 0.0
        self._due_s = 0.0

    def wait_s(self, now: float) -> float:
        """Return how long the next token, which is ready now, must wait."""
        wait_s = max(0.0, self._due_s - now)
        self._due_s = now + wait_s + self._gap_s
        return wait_s
