"""The laws of how far a side drafts ahead: far enough to hide a round trip, within its bounds, and only if it pays."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hocket_daemon.aggregation.exchange.exchange import Exchange
from hocket_daemon.aggregation.exchange.lookahead import INTERRUPTION_S, MAX_LOOKAHEAD, draft_window, pays_ahead
from hocket_daemon.aggregation.exchange.parties import LEADER
from hocket_daemon.aggregation.exchange.session_terms import Draft, SessionTerms
from hocket_daemon.aggregation.paper.aggregator import AggregatorExchange
from hocket_daemon.engine.sampling.distribution import truncate
from hocket_daemon.engine.sampling.drawing import Rule

seconds = st.floats(1e-4, 2.0)


@given(seconds, seconds, st.integers(1, MAX_LOOKAHEAD))
def test_the_window_hides_a_round_trip_within_its_bounds(rtt_s: float, decode_s: float, maximum: int) -> None:
    """Enough steps for a round trip, unless the bound is below that."""
    window = draft_window(rtt_s, decode_s, maximum)
    assert 1 <= window <= maximum
    assert window == maximum or window * decode_s >= rtt_s


@given(seconds, st.floats(0, 1), st.floats(0, 1))
def test_drafting_ahead_pays_the_more_the_further_away_and_the_more_is_accepted(
    rtt_s: float, one: float, two: float
) -> None:
    """Never where nothing is accepted, always where everything is; where half is, beyond what an interruption costs."""
    less, more = sorted((one, two))
    assert pays_ahead(rtt_s, more) or not pays_ahead(rtt_s, less)
    assert pays_ahead(2 * rtt_s, one) or not pays_ahead(rtt_s, one)
    assert pays_ahead(rtt_s, 1.0)
    assert not pays_ahead(rtt_s, 0.0)
    assert pays_ahead(rtt_s, 0.5) == (rtt_s > INTERRUPTION_S)


def test_nothing_is_kept_of_steps_that_no_draft_can_be_of_yet_or_ever() -> None:
    """Whatever the other end claims, a session's memory is bounded: by the answer's length, and by two windows."""
    terms = SessionTerms(bytes(16), Rule(1, 1.0, 1.0), "coupled", frozenset(), 4096)
    exchange = Exchange("cloud", terms)
    for step in range(4096):
        exchange.add_draft(LEADER, Draft(step, 0, 1, truncate(np.ones(4, np.float32) / 4, 1.0), None, 0.01), 0, 0)
    assert 2 * MAX_LOOKAHEAD <= len(exchange.parties._parties[LEADER].drafts) < 200
    for first in range(0, 1 << 20, 1 << 12):
        exchange.add_target(first, [1] * (1 << 12), 0)
    assert len(exchange._targets) == 4096


def test_independent_sides_that_are_near_wait_for_each_other() -> None:
    """And draft ahead again when the link grows longer; `coupled` sides, whose drafts mostly agree, always do."""
    rule = Rule(1, 1.0, 1.0)
    near_and_far = (0.001, 0.1, 0.001, 0.0)  # 0: the round trip is not known

    def windows(exchange: Exchange) -> list[bool]:
        ahead = []
        for rtt_s in near_and_far:
            exchange.pace(rtt_s, 0.025)
            ahead.append(exchange.window > 1)
        return ahead

    independent = SessionTerms(bytes(16), rule, "independent", frozenset(), 20)
    assert windows(AggregatorExchange("cloud", independent)) == [False, True, False, True]
    assert windows(Exchange("cloud", SessionTerms(bytes(16), rule, "coupled", frozenset(), 20))) == [
        True,
        True,
        True,
        True,
    ]
