"""How far a side drafts ahead."""

from __future__ import annotations

import math


def draft_window(rtt_s: float, decode_s: float) -> int:
    """Own drafts beyond the last confirmed step: enough to hide a round trip, no more (docs/aggregation.md)."""
    return min(32, max(4, math.ceil(rtt_s / max(decode_s, 1e-4)) + 2))
