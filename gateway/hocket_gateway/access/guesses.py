"""Limit on wrong keys by client address: so many a minute are answered, and no right key is ever delayed.

A key has 256 random bits, so no rate finds one. The bound makes a flood of guesses cheap and visible.
"""

from __future__ import annotations

import time

import structlog

from hocket_bus.limits.shares import Bucket

from ..http.refusals import Refusal

A_MINUTE = 30
MAX_ADDRESSES = 1_024  # the one that was added first is forgotten

log = structlog.get_logger(__name__)


class Guesses:
    """A counter of wrong keys by address. All clients of a proxy share its address, so only wrong keys are limited."""

    def __init__(self) -> None:
        self._buckets: dict[str, Bucket] = {}

    def count(self, address: str) -> None:
        """Count a wrong key. Raises Refusal if there were too many."""
        now, rate = time.monotonic(), A_MINUTE / 60
        bucket = self._buckets.get(address)
        if bucket is None:
            if len(self._buckets) >= MAX_ADDRESSES:
                del self._buckets[next(iter(self._buckets))]
            bucket = self._buckets[address] = Bucket(rate, A_MINUTE, now)
        left = bucket.spend(1, now)
        if left < 0:
            bucket.spend(-1, now)
            text = f"more than {A_MINUTE} wrong keys came from {address} within a minute"
            raise Refusal(429, text, "send a valid key", "too_many_guesses", retry_after_s=-left / rate)
        if left < 1:
            log.warning("many wrong keys", address=address)
