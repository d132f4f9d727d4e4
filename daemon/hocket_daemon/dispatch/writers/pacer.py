"""The brake on a source whose answer is moving: what it writes far ahead of the reader costs more than the target's.

It acts only where the reader has asked for a pace: whoever reads as fast as tokens come is not to wait. Pure.
"""

from __future__ import annotations

from math import inf

from ..policies.migration import lead_tokens

STEP_S = 0.1  # what a target takes to its first token, beyond the round trip, once it stands


class Pacer:
    """The brake on one source. Times are the monotonic clock's."""

    def __init__(self, pace: float) -> None:
        """Create it; `pace` is what the reader has asked for, in tokens a second; 0: none."""
        self.until_s = inf  # the source is held, and goes on then
        self._pace = pace

    def pull(self, tokens: int, first_s: float, now: float, rtt_s: float) -> bool:
        """Tell whether to hold the source now, which has written so many tokens, the first of them at `first_s`."""
        if not self._pace:
            return False
        enough = lead_tokens(self._pace, rtt_s + STEP_S)
        wanted_s = first_s + (tokens - enough) / self._pace  # then the reader has no more than that in hand
        if wanted_s <= now:
            return False
        self.until_s = wanted_s
        return True

    def release(self) -> None:
        """Release the source, which may write, or another one does."""
        self.until_s = inf
