"""Times to this side's first token, as its answers to pings report them: one list that the daemon passes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class FirstTokens:
    """Equally likely seconds from a question to its first token, ascending; empty where no mode reports any."""

    quantiles_s: Sequence[float] = ()
