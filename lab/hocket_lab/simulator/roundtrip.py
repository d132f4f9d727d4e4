"""The round trip between the sides at a moment: sinusoidal jitter as in DRAGON §7.4, or a recorded series."""

from __future__ import annotations

import gzip
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hocket_bus.errors import BadRequest
from hocket_lab.data_folder import require

PERIOD_S = 20 * math.pi
JITTER = 0.2  # of the round trip
MATRICES = Path("net_rtt_matrices") / "seattle_688x99x99.txt.gz"
MACHINES = 99


class RoundTrip(Protocol):
    """The round trip in seconds at `now_s`; one way takes half of it."""

    def __call__(self, now_s: float) -> float:
        """Return the round trip in seconds, at least 0."""


@dataclass(frozen=True, slots=True)
class Sinusoid:
    """A sinusoid, rtt·(1 + jitter·sin(2πt/period + phase)): amplitude one fifth and period 20π s in the paper."""

    rtt_s: float
    jitter: float = JITTER
    phase: float = 0.0

    def __call__(self, now_s: float) -> float:
        """Return the round trip in seconds."""
        return self.rtt_s * (1 + self.jitter * math.sin(2 * math.pi * now_s / PERIOD_S + self.phase))


@dataclass(frozen=True, slots=True)
class Trace:
    """Recorded round trips, each in force for `period_s`; the series repeats. `start` is the first value in force."""

    values_s: tuple[float, ...]
    period_s: float
    start: int = 0

    def __call__(self, now_s: float) -> float:
        """Return the round trip in seconds."""
        return self.values_s[(self.start + int(now_s / self.period_s)) % len(self.values_s)]


def recorded(data: Path, first: int, second: int) -> tuple[float, ...]:
    """The round trips in seconds between two of the 99 machines of the Seattle matrices; gaps are left out."""
    path = data / MATRICES
    require(data, MATRICES)
    if not (0 <= first < MACHINES and 0 <= second < MACHINES and first != second):
        raise BadRequest(f"no machines {first},{second}", f"name two different numbers from 0 to {MACHINES - 1}")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [line for line in lines if not line.startswith("#") and line.strip()]
    values = (float(row.split("\t", second + 1)[second]) for row in rows[first::MACHINES])
    series = tuple(value for value in values if value > 0)
    if not series:
        raise BadRequest(f"no round trip was recorded between machines {first} and {second}", "choose another pair")
    return series
