"""Rate limits by key, and refusal of keys for a while. Pure; knows no socket.

A message costs its bytes and FRAME_BYTES for each of its frames, since a frame costs time however short it is. One that
begins or ends a subscription costs SUBSCRIPTION_BYTES more: libzmq keeps a tree of topics.
"""

from __future__ import annotations

from ..errors import Busy, HocketError, Untrusted
from .malformed import MAX_MALFORMED, MalformedLimit

RATE_BYTES = 8 << 20  # a second
BURST_BYTES = 16 << 20  # at once; as much again is read, and refused, before the key is
FRAME_BYTES = 1 << 10
SUBSCRIPTION_BYTES = 32 << 10  # so 250 a second, and twice as many at once
REFUSED_S = 60.0

TOO_FAST = Busy(f"this key sends more than {RATE_BYTES >> 20} MiB a second", "send less at a time", 1.0)
TOO_MANY = Untrusted(
    f"{MAX_MALFORMED} messages of this key within a minute were malformed; it is refused for {REFUSED_S:.0f} s",
    "install the same version of hocket on both ends; check what else uses this key",
)
TOO_MUCH = Untrusted(
    f"this key sent far more than {RATE_BYTES >> 20} MiB a second; it is refused for {REFUSED_S:.0f} s",
    "check what else uses this key",
)


class Bucket:
    """A token bucket: a share that is used up and refills at `rate` a second, to at most `burst`."""

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._now = now

    def spend(self, cost: float, now: float) -> float:
        """Spend `cost`; return what is left, negative if the cost exceeded what there was."""
        self._left = min(self._left + self._rate * (now - self._now), self._burst) - cost
        self._now = now
        return self._left


class Shares:
    """Shares of all users, and since when a user is refused."""

    def __init__(self) -> None:
        self._buckets: dict[str, Bucket] = {}
        self._malformed = MalformedLimit()
        self._refused: dict[str, tuple[float, HocketError]] = {}  # since when, and why

    def spend(self, user: str, size: int, frames: int, now: float, *, topics: bool = False) -> HocketError | None:
        """Count a message of `size` bytes; return why it is not taken, or None. Far too much begins a refusal.

        With `topics` the message begins or ends a subscription.
        """
        if self._refused and (refusal := self.refusal(user, now)) is not None:
            return refusal
        bucket = self._buckets.get(user)
        if bucket is None:
            bucket = self._buckets[user] = Bucket(RATE_BYTES, BURST_BYTES, now)
        left = bucket.spend(size + FRAME_BYTES * frames + SUBSCRIPTION_BYTES * topics, now)
        if left >= 0:
            return None
        if left >= -BURST_BYTES:
            return TOO_FAST
        self.refuse(user, TOO_MUCH, now)
        return TOO_MUCH

    def malformed(self, user: str, now: float) -> bool:
        """Count a malformed message; tell whether it begins a refusal."""
        if self.refusal(user, now) is not None or not self._malformed.count(user, now):
            return False
        self.refuse(user, TOO_MANY, now)
        return True

    def refuse(self, user: str, reason: HocketError, now: float) -> None:
        """Take nothing of this user for REFUSED_S; the share is whole again afterwards."""
        self._refused[user] = (now, reason)
        self._buckets.pop(user, None)

    def refusal(self, user: str, now: float) -> HocketError | None:
        """Return why nothing is taken of this user now; None if it is not refused."""
        since, reason = self._refused.get(user, (now - REFUSED_S, None))
        return reason if now - since < REFUSED_S else None

    def refused_for(self, seconds: float, now: float) -> list[str]:
        """Return the users that have been refused for longer than `seconds`; forget refusals that are over."""
        self._refused = {user: each for user, each in self._refused.items() if now - each[0] < REFUSED_S}
        return [user for user, (since, _) in self._refused.items() if now - since > seconds]
