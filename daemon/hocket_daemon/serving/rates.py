"""Rate limits on how often a key may begin something: a token bucket for each, generous, as it only bounds abuse."""

from __future__ import annotations

from hocket_bus.errors import Busy

BEGINS_S = 25.0  # a second, for as long as one likes
BURST = 100.0  # at once, behind a pause


class Rates:
    """A token bucket for each key that was seen since the start; keys are allowed by hand, so there are few."""

    def __init__(self) -> None:
        self._buckets: dict[str, tuple[float, float]] = {}  # by key: what is left, and when it was looked at

    def begin(self, user: str, now_s: float) -> None:
        """Count one beginning. Raises Busy where `user` has begun too many."""
        left, looked_s = self._buckets.get(user, (BURST, now_s))
        left = min(BURST, left + BEGINS_S * (now_s - looked_s))
        if left < 1:
            self._buckets[user] = left, now_s
            retry_s = (1 - left) / BEGINS_S
            raise Busy(f"more than {BEGINS_S:.0f} questions a second", f"try again in {retry_s:.2f} s", retry_s)
        self._buckets[user] = left - 1, now_s
