"""How far a side drafts ahead."""

from __future__ import annotations

import math

MAX_LOOKAHEAD = 32
INTERRUPTION_S = 0.004  # what a step begun in vain costs: its end at the next layer, and two changes of threads


def lookahead(headroom: float) -> int:
    """How far a side may draft ahead of whose capacity `headroom`, in [0, 1], is free: at least one step."""
    return max(1, round(headroom * MAX_LOOKAHEAD))


def draft_window(rtt_s: float, decode_s: float, max_lookahead: int = MAX_LOOKAHEAD) -> int:
    """Own drafts beyond the last confirmed step: enough to hide a round trip, no more (docs/aggregation.md).

    A side that is nearly full allows fewer: `max_lookahead`.
    """
    steps = min(float(MAX_LOOKAHEAD), rtt_s / max(decode_s, 1e-4))  # whatever the other end says of the round trip
    return min(max_lookahead, max(4, math.ceil(steps) + 2))


def pays_ahead(rtt_s: float, accepted: float) -> bool:
    """Whether it pays to draft behind a draft that is not confirmed and is `accepted` so often, in [0, 1].

    Accepted, it saves waiting for a round trip; rejected, the step that has begun is interrupted.
    """
    return accepted * rtt_s > (1 - accepted) * INTERRUPTION_S
