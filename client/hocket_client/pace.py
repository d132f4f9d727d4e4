"""Tokens handed out evenly, at the speed of a reader, however they come. Pure: times are passed in."""

from __future__ import annotations


class Pace:
    """`rate` tokens a second at most; 0: as they come."""

    def __init__(self, rate: float) -> None:
        self._gap_s = 1 / rate if rate else 0.0
        self._due_s = 0.0

    def wait_s(self, now: float) -> float:
        """How long the next token is to wait, which is ready now."""
        wait_s = max(0.0, self._due_s - now)
        self._due_s = now + wait_s + self._gap_s
        return wait_s
