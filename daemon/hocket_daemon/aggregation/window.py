"""How far a side drafts ahead."""

from __future__ import annotations

import math

MOST_AHEAD = 32


def draft_window(rtt_s: float, decode_s: float, most: int = MOST_AHEAD) -> int:
    """Own drafts beyond the last confirmed step: enough to hide a round trip, no more (docs/aggregation.md).

    A side that is nearly full allows fewer: `most`.
    """
    steps = min(float(MOST_AHEAD), rtt_s / max(decode_s, 1e-4))  # whatever the other end says of the round trip
    return min(most, max(4, math.ceil(steps) + 2))
