"""Conditions of a link: delay, jitter, bandwidth, stalls, recorded traces; knows nothing of sockets."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Literal

Jitter = Literal["normal", "uniform"]


class TraceError(ValueError):
    """An error in a recorded trace, which cannot be used; the message names the line."""


@dataclass(frozen=True, slots=True)
class Path:
    """Conditions of one direction of a link.

    A chunk that arrives at time t leaves at t + queueing at `bandwidth_bytes_per_s` + delay, or later if an earlier
    chunk leaves later: TCP keeps order, so jitter never reorders.

    delay_s: one-way delay, >= 0.
    jitter_s: "normal": standard deviation of a normal around the delay, cut off at three of them and at zero delay;
        "uniform": half the width of an even spread around the delay, cut off at zero.
    bandwidth_bytes_per_s: 0 means no limit.
    trace_s: recorded round-trip times; half of the one in force is used instead of `delay_s`. The trace repeats.
    trace_period_s: how long each recorded value is in force, > 0.
    """

    delay_s: float = 0.0
    jitter_s: float = 0.0
    jitter: Jitter = "normal"
    bandwidth_bytes_per_s: float = 0.0
    trace_s: tuple[float, ...] = ()
    trace_period_s: float = 0.1

    def __post_init__(self) -> None:
        for name in ("delay_s", "jitter_s", "bandwidth_bytes_per_s"):
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0:
                raise ValueError(f"{name} must be a number of at least 0, not {value}")
        if self.jitter not in ("normal", "uniform"):
            raise ValueError(f'jitter must be "normal" or "uniform", not "{self.jitter}"')
        if not self.trace_period_s > 0:
            raise ValueError(f"trace_period_s must be above 0, not {self.trace_period_s}")

    @property
    def chunk_bytes(self) -> int:
        """Return the bytes to take at once: 64 KiB, or what the bandwidth carries in 10 ms, and at least one packet."""
        return int(min(65536, max(1460, self.bandwidth_bytes_per_s / 100))) if self.bandwidth_bytes_per_s else 65536


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions of both directions of a link, the stalls they share and the seed of everything random.

    forward: from whoever connects towards the target; backward: the way back.
    stall_every_s: mean time between the starts of stalls (exponential), 0 means none.
    stall_s: how long a stall lasts; nothing leaves the link meanwhile.
    """

    forward: Path = field(default_factory=Path)
    backward: Path = field(default_factory=Path)
    stall_every_s: float = 0.0
    stall_s: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not (self.stall_every_s >= 0 and self.stall_s >= 0):
            raise ValueError("stall_every_s and stall_s must be at least 0")
        if self.stall_every_s == 0 and self.stall_s > 0:
            raise ValueError("stall_s needs stall_every_s: say how often the link stalls")

    @classmethod
    def symmetric(cls, rtt_s: float = 0.0, jitter_s: float = 0.0, seed: int = 0) -> Conditions:
        """Return conditions with the same delay both ways: `rtt_s` is the round trip, `jitter_s` each way's jitter."""
        path = Path(delay_s=rtt_s / 2, jitter_s=jitter_s)
        return cls(forward=path, backward=path, seed=seed)


def read_trace(path: FilePath) -> tuple[float, ...]:
    """Round-trip times in seconds from a file of milliseconds, one per line; blank lines and # comments are skipped.

    Raises TraceError for an empty trace, for a file that is not text, and with the line number for anything that is not
    a finite number >= 0.
    """
    values = []
    for number, line in enumerate(_lines(path), start=1):
        text = line.partition("#")[0].strip()
        if text:
            values.append(_milliseconds(text, f"{path}, line {number}") / 1e3)
    if not values:
        raise TraceError(f"{path}: no values; write one round trip in milliseconds per line")
    return tuple(values)


def _lines(path: FilePath) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise TraceError(f"{path} is not text; write one round trip in milliseconds per line") from error


def _milliseconds(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise TraceError(f'{where}: "{text}" is not a round trip in milliseconds')
    return value


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of "host:port", "[v6]:port" or "tcp://host:port"; raises ValueError that says what is wrong."""
    host, colon, port = text.removeprefix("tcp://").rpartition(":")
    if not (colon and host and port.isdecimal() and int(port) <= 65535):
        raise ValueError(f'"{text}" is no address; write host:port, for example 127.0.0.1:7100')
    return host.strip("[]"), int(port)
