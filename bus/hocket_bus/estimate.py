"""Moving estimates of a figure that is measured repeatedly: its current value and its average (DRAGON §5.2)."""

from __future__ import annotations

from collections import deque

WEIGHT = 0.05  # of a new measurement in the average; the paper gives none
_LATEST = 3  # a single stray measurement is ignored, a lasting change is followed with the second one


class Estimate:
    """Two moving figures of one series: `now`, the median of the latest, and `average`. Both are 0 at first."""

    def __init__(self) -> None:
        self.average = 0.0
        self.count = 0
        self._latest: deque[float] = deque(maxlen=_LATEST)

    @property
    def now(self) -> float:
        """The real-time estimate: the median of the latest measurements, the lower one of two."""
        ordered = sorted(self._latest)
        return ordered[(len(ordered) - 1) // 2] if ordered else 0.0

    def add(self, measured: float) -> None:
        """Add a measurement to both figures."""
        self.average = (1 - WEIGHT) * self.average + WEIGHT * measured if self._latest else measured
        self._latest.append(measured)
        self.count += 1
