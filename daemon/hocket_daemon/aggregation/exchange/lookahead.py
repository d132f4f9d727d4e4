"""The number of steps that a side drafts ahead."""

from __future__ import annotations

import math

MAX_LOOKAHEAD = 32
INTERRUPTION_S = 0.004  # what a step begun in vain costs: its end at the next layer, and two changes of threads


def lookahead(headroom: float) -> int:
    """Return how many steps a side may draft ahead, at least one; `headroom`, in [0, 1], is its free capacity."""
    return max(1, round(headroom * MAX_LOOKAHEAD))


def draft_window(rtt_s: float, decode_s: float, max_lookahead: int = MAX_LOOKAHEAD) -> int:
    """Return how many drafts beyond the last confirmed step hide a round trip, and no more (docs/aggregation.md).

    A side that is nearly full allows fewer: `max_lookahead`.
    """
    steps = min(float(MAX_LOOKAHEAD), rtt_s / max(decode_s, 1e-4))  # whatever the other end says of the round trip
    return min(max_lookahead, max(4, math.ceil(steps) + 2))


def pays_ahead(rtt_s: float, accepted: float) -> bool:
    """Tell whether it pays to draft after an unconfirmed draft, of which the part `accepted`, in [0, 1], is accepted.

    Accepted, it saves waiting for a round trip; rejected, the step that has begun is interrupted.
    """
    return accepted * rtt_s > (1 - accepted) * INTERRUPTION_S
