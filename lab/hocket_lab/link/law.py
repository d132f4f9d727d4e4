"""Release times of chunks on a link: the arithmetic of delay, kept apart from sockets so that it can be checked."""

from __future__ import annotations

import random
from collections.abc import Iterator

from hocket_lab.link.conditions import Conditions, Path


class DelayLaw:
    """Release times of one direction of one connection; they never decrease. Times are seconds since the link began.

    The same conditions and stream name give the same delays for the same arrivals.
    """

    def __init__(self, conditions: Conditions, path: Path, stream: str) -> None:
        self._path = path
        self.chunk_bytes = path.chunk_bytes
        self._random = random.Random(f"{conditions.seed}/{stream}")
        self._stalls = _stalls(conditions)
        self._stall = next(self._stalls, None)
        self._sent_s = 0.0
        self._last_s = 0.0

    def release_s(self, arrival_s: float, size_bytes: int) -> float:
        """Release time of a chunk of `size_bytes` that arrived at `arrival_s`; call once per chunk, in order."""
        self._sent_s = max(arrival_s, self._sent_s) + self._transmission_s(size_bytes)
        due_s = max(self._sent_s + self._delay_s(arrival_s), self._last_s)
        self._last_s = self._after_stall(due_s)
        return self._last_s

    def follow(self, earlier: DelayLaw) -> None:
        """Keep order: release nothing before the last release of an earlier law."""
        self._last_s = max(self._last_s, earlier._last_s)

    def _transmission_s(self, size_bytes: int) -> float:
        rate = self._path.bandwidth_bytes_per_s
        return size_bytes / rate if rate else 0.0

    def _delay_s(self, now_s: float) -> float:
        path = self._path
        base = path.delay_s
        if path.trace_s:
            base = path.trace_s[int(now_s / path.trace_period_s) % len(path.trace_s)] / 2
        return base + self._jitter_s(base) if path.jitter_s else base

    def _jitter_s(self, base_s: float) -> float:
        """A deviation from `base_s` that leaves the delay at or above zero."""
        width = self._path.jitter_s
        if self._path.jitter == "uniform":
            return self._random.uniform(max(-width, -base_s), width)
        while True:
            deviation = self._random.gauss(0.0, width)
            if max(-3 * width, -base_s) <= deviation <= 3 * width:
                return deviation

    def _after_stall(self, due_s: float) -> float:
        while self._stall is not None and due_s >= self._stall[1]:
            self._stall = next(self._stalls, None)
        if self._stall is not None and due_s >= self._stall[0]:
            return self._stall[1]
        return due_s


def _stalls(conditions: Conditions) -> Iterator[tuple[float, float]]:
    """Yield (start, end) of each stall; the same for both directions and every connection of a link."""
    if not conditions.stall_every_s:
        return
    source = random.Random(f"{conditions.seed}/stalls")
    end = 0.0
    while True:
        start = end + source.expovariate(1 / conditions.stall_every_s)
        end = start + conditions.stall_s
        yield start, end
