"""Laws of migration: when it pays, how many tokens bridge it, and which tokens come late."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_daemon.dispatch.policies.cost import Costs
from hocket_daemon.dispatch.policies.migration import buffer_tokens, lead_tokens, worth_moving
from hocket_daemon.dispatch.settings import Migration
from hocket_lab.bench.dispatch.delivery import Route, delivered

COSTS = Costs(1.0, 2.0, 4.0, 8.0, 0.0, 0.0)
PACE = 4.8
routes = st.builds(
    Route,
    tokens=st.integers(1, 200),
    pace=st.just(PACE),
    source_rate=st.floats(5, 200),
    target_rate=st.floats(5, 200),
    ready_s=st.floats(0, 30),
    expected_s=st.floats(0, 10),
    reading_rate=st.floats(20, 2_000),
)


@pytest.mark.parametrize(("remaining", "moves"), [(3, False), (4, True)])
def test_moving_pays_when_the_rest_saves_more_than_the_target_has_to_read(remaining: int, moves: bool) -> None:
    """Eq. 4 from the device: 6 a token saved, 20 to read."""
    assert worth_moving(COSTS, "device", remaining, 20) == moves


def test_nothing_moves_to_the_dearer_side() -> None:
    """Whatever is left."""
    assert not worth_moving(COSTS, "cloud", 1e9, 0)


@given(st.floats(0.1, 20), st.floats(0, 30))
def test_the_buffer_is_what_is_read_meanwhile(pace: float, migration_s: float) -> None:
    """Eq. 6, in whole tokens; a source that writes on is one ahead of it."""
    assert 0 <= buffer_tokens(pace, migration_s) - pace * migration_s <= 1
    assert lead_tokens(pace, migration_s) == buffer_tokens(pace, migration_s) + 1


@given(routes, st.sampled_from(["overlap", "stop", "off"]))
def test_each_token_is_written_once_and_read_in_order(route: Route, migration: Migration) -> None:
    """At the reader's pace at most, and never before it is written."""
    found = delivered(route, migration)
    assert len(found.written_s) == len(found.read_s) == route.tokens
    assert 1 <= found.of_source <= route.tokens
    assert list(found.written_s) == sorted(found.written_s)
    assert all(read >= written for read, written in zip(found.read_s, found.written_s, strict=True))
    assert all(gap >= 1 / route.pace - 1e-9 for gap in found.gaps_s())


@given(routes)
def test_a_source_that_writes_on_lets_nobody_wait(route: Route) -> None:
    """Longer than a token of the target, however late that is and whether the source is held back or not.

    The target's first token, the n-th of all, is written before n / s + 1 / t, s and t being the rates, and wanted at
    n / PACE: nobody waits where both rates are at least twice PACE.
    """
    held = replace(route, lead=lead_tokens(PACE, 1 / route.target_rate))
    for each in (route, held):
        found = delivered(each, "overlap")
        waits_s = [written - place / PACE for place, written in enumerate(found.written_s)]
        assert max(waits_s) <= 1 / route.target_rate + 1e-9
        assert found.late(PACE) == 0 or min(route.source_rate, route.target_rate) < 2 * PACE
    assert delivered(held, "overlap").of_source <= delivered(route, "overlap").of_source


@given(routes)
def test_a_source_that_stops_lets_wait_when_the_target_is_later_than_was_thought(route: Route) -> None:
    """And not when it is as soon, but for the target's first token."""
    soon = replace(route, ready_s=route.expected_s, reading_rate=1e12, target_rate=1e12)
    assert delivered(soon, "stop").late(PACE) == 0
    late = replace(route, source_rate=100.0, ready_s=route.expected_s + 20, tokens=200)
    assert delivered(late, "stop").late(PACE) > 0


def test_without_migration_the_source_writes_all() -> None:
    """The target is not asked."""
    found = delivered(Route(10, PACE, 20.0, 30.0, 1.0, 1.0, 100.0), "off")
    assert (found.of_source, found.target_read) == (10, 0)


def test_a_held_source_writes_as_many_as_are_read_until_the_target_is_there() -> None:
    """Two seconds at 4.8 tokens a second, and the lead; unheld it writes forty."""
    route = Route(128, PACE, 20.0, 20.0, 2.0, 2.0, 1e12)
    held = delivered(replace(route, lead=lead_tokens(PACE, 1 / 20)), "overlap").of_source
    assert held == pytest.approx(2 * PACE + 2, abs=1)
    assert delivered(route, "overlap").of_source == 41
