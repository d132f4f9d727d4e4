"""How long this side's first tokens take, as its answers to pings tell: one list, for the daemon to hand on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class FirstTokens:
    """Equally likely seconds from a question to its first token, ascending; none where no mode tells any."""

    quantiles_s: Sequence[float] = ()
