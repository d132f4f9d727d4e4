"""The law of how far a side drafts ahead: far enough to hide a round trip, within its bounds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hocket_daemon.aggregation.window import MOST_AHEAD, draft_window

seconds = st.floats(1e-4, 2.0)


@given(seconds, seconds, st.integers(1, MOST_AHEAD))
def test_the_window_hides_a_round_trip_within_its_bounds(rtt_s: float, decode_s: float, most: int) -> None:
    """Enough steps for a round trip, unless the bound is below that."""
    window = draft_window(rtt_s, decode_s, most)
    assert 1 <= window <= most
    assert window == most or window * decode_s >= rtt_s
