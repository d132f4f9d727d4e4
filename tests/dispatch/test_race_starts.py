"""Laws of the race as a pure state machine: what it waits for, and what it never waits for."""

from __future__ import annotations

from itertools import product
from math import inf

from hocket_bus.errors import Unavailable
from hocket_daemon.dispatch.race import FIRST_S, Begin, Race


def test_behind_every_event_nothing_is_due_that_was_acted_on() -> None:
    """A side that was asked, or is gone, is not asked again at its start, so a loop that waits for it would spin."""
    for asked, gone in product(("device", "cloud", None), repeat=2):
        race = Race()
        if asked is not None:
            race.start(0.0, {asked: 0.0})
        if gone is not None and gone != asked:
            race.gone(gone, Unavailable("away", "wait"), 0.0)
        race.start(1.0, {"device": 0.0, "cloud": 0.5})
        assert race.due_s > 1.0
        race.tick(race.due_s)
        assert race.due_s > 1.0 + FIRST_S / 2


def test_a_side_that_is_back_begins_at_its_time() -> None:
    """It was away when the times were told."""
    race = Race()
    race.gone("cloud", Unavailable("away", "wait"), 0.0)
    race.start(0.0, {"device": inf, "cloud": 3.0})
    race.back("cloud")
    assert race.due_s == 3.0
    assert race.tick(3.0) == [Begin("cloud")]
    assert race.due_s == 3.0 + FIRST_S, "both were asked"
