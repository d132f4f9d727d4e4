"""Ranges of the figures' settings, by their names, which mean the same in every figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hocket_bus.errors import BadRequest
from hocket_bus.messages import WEIGHTS
from hocket_daemon.aggregation.weights.relevance import BY_LIKELIHOOD
from hocket_lab.simulator.strategies import STRATEGIES

_SHARES = ("accept", "accept_cloud", "accept_device", "jitter", "query_share", "wire_masses")
_FROM_ZERO = (
    "seed", "sequence", "articles", "rtts_ms", "measured_rtts_ms", "rtt_ms", "hold_ms", "temperature", "temperatures",
)  # fmt: skip
_ABOVE_ZERO = ("device_ms", "cloud_ms", "decode_ms", "relevance_temperature")
_GAPS = ("tokens", "prompt_tokens", "simulated_tokens")  # a time per token needs two of them
RANGES: Mapping[str, tuple[float, float]] = (
    dict.fromkeys(_SHARES, (0.0, 1.0))
    | dict.fromkeys(_FROM_ZERO, (0.0, math.inf))
    | dict.fromkeys(_ABOVE_ZERO, (0.001, math.inf))
    | dict.fromkeys(_GAPS, (2.0, math.inf))
)
PAPERS_WEIGHTS = tuple(weights for weights in WEIGHTS if weights not in BY_LIKELIHOOD)
COUNT = (1.0, math.inf)  # every other number
CHOICES: Mapping[str, Sequence[str]] = {"strategy": tuple(STRATEGIES), "weights": PAPERS_WEIGHTS}


def check(name: str, value: object) -> None:
    """Check a setting. Raises BadRequest where it, or one of its parts, is none that the figures can be made with."""
    minimum, maximum = RANGES.get(name, COUNT)
    for part in value if isinstance(value, tuple) else (value,):
        if isinstance(part, int | float) and not (minimum <= part <= maximum and math.isfinite(part)):
            end = "on" if maximum == math.inf else f"to {maximum:g}"
            raise BadRequest(f"{name} cannot be {part:g}", f"choose a number from {minimum:g} {end}")
        if name in CHOICES and part not in CHOICES[name]:
            raise BadRequest(f"{name} cannot be '{part}'", f"choose of {', '.join(CHOICES[name])}")
