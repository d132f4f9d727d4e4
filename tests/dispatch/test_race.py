"""Laws of the race, whatever happens in whatever order: one side writes, and somebody always will."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from math import inf

import pytest

from hocket_bus.errors import Unavailable
from hocket_bus.messages import Side, other
from hocket_daemon.dispatch.race import (
    FIRST_S,
    MOVE_S,
    SIDES,
    STALL_S,
    Action,
    Begin,
    Fail,
    Hold,
    Notify,
    Race,
    StandBy,
    Write,
)

GONE = Unavailable("it broke", "mend it")


@dataclass
class World:
    """What the race's actions have led to."""

    race: Race
    at_work: set[Side] = field(default_factory=set)  # may say tokens
    writer_status: set[Side] = field(default_factory=set)  # was told to read
    failed: int = 0
    tokens: list[Side] = field(default_factory=list)
    begun: dict[Side, float] = field(default_factory=dict)

    def do(self, actions: list[Action], now: float) -> None:
        for action in actions:
            assert not self.failed, "nothing is left to do behind the end"
            match action:
                case Begin(side):
                    assert side not in self.begun, "a side begins once"
                    self.begun[side] = now
                    self.at_work.add(side)
                case Write(side):
                    self.at_work = {side}
                    self.writer_status.discard(side)
                case Hold(side):
                    self.at_work.discard(side)
                    self.writer_status.discard(side)
                case StandBy(side):
                    assert side not in self.at_work or side != self.race.writer
                    self.at_work.discard(side)
                    self.writer_status.add(side)
                case Fail():
                    self.failed += 1
                case Notify(text):
                    assert text


def happen(world: World, rng: random.Random, now: float) -> float:
    """Something, to somebody; the time by then."""
    race, what, side = world.race, rng.random(), rng.choice(SIDES)
    if what < 0.5:
        speak(world, side, now)
    elif what < 0.6:
        world.do(race.move(side, now, waits=rng.random() < 0.5), now)
    elif what < 0.7 and side in world.writer_status:
        world.do(race.ready(side, now), now)
    elif what < 0.74:
        world.at_work.discard(side)
        world.writer_status.discard(side)
        world.do(race.gone(side, GONE, now), now)
    elif what < 0.77 and world.tokens:
        race.back(side)
        world.begun.pop(side, None)
    else:
        now = max(now, min(race.due_s, now + 20))
        world.do(race.tick(now), now)
    return now


def speak(world: World, side: Side, now: float) -> None:
    """A token of a side: heard from who is at work, and from nobody else."""
    wanted = side in world.at_work
    taken, actions = world.race.token(side, now)
    world.do(actions, now)
    assert taken == wanted
    if taken:
        assert world.race.writer == side
        assert world.at_work <= {side}, "the other side was told to hold"
        world.tokens.append(side)


@pytest.mark.parametrize("seed", range(300))
def test_one_side_writes_and_somebody_always_will(seed: int) -> None:
    """Random starts, tokens of whoever is at work, moves, failures, returns and waits."""
    rng, now = random.Random(seed), 0.0
    race = Race()
    world = World(race)
    starts = {side: rng.choice([0.0, 0.5, 3.0, inf]) for side in SIDES}
    world.do(race.start(now, starts), now)
    for _ in range(120):
        now += rng.choice([0.0, 0.01, 0.3, 2.0])
        now = happen(world, rng, now)
        if world.failed:
            break
        assert race.due_s < inf, "it waits for nothing without a deadline"
        if race.writer is not None:
            assert world.at_work in ({race.writer}, set())
    if race.winner is not None and world.tokens:
        assert world.tokens[0] == race.winner


def test_two_that_fail_end_it_with_the_last_reason() -> None:
    """Once."""
    race = Race()
    race.start(0.0, dict.fromkeys(SIDES, 0.0))
    assert not any(isinstance(action, Fail) for action in race.gone("cloud", GONE, 1.0))
    assert race.gone("device", GONE, 2.0) == [Fail(GONE)]
    assert race.gone("device", GONE, 3.0) == []


@pytest.mark.parametrize("side", SIDES)
def test_a_side_that_says_nothing_is_not_waited_for(side: Side) -> None:
    """In the race, in the middle, and on the way to take over."""
    race = Race()
    race.start(0.0, {side: 0.0})
    assert race.tick(FIRST_S - 0.1) == []
    assert race.tick(FIRST_S) == [Begin(other(side))]
    race = Race()
    race.start(0.0, {side: 0.0})
    race.token(side, 1.0)
    assert race.tick(1.0 + STALL_S - 0.1) == []
    tell, *rest = race.tick(1.0 + STALL_S)
    assert isinstance(tell, Notify)
    assert rest == [Hold(side), Write(other(side))]
    race = Race()
    race.start(0.0, {side: 0.0})
    race.token(side, 1.0)
    assert race.move(other(side), 1.0, waits=False) == [StandBy(other(side))]
    for step in range(1, 11):
        race.token(side, 1.0 + step)
    assert race.tick(1.0 + MOVE_S) == [Hold(other(side))]
    assert race.writer == side


def test_a_move_that_does_not_wait_takes_nothing_from_the_writer() -> None:
    """It writes on until the target stands; then the target does."""
    race = Race()
    race.start(0.0, {"cloud": 0.0})
    race.token("cloud", 0.1)
    race.move("device", 0.1, waits=False)
    assert race.token("cloud", 0.2) == (True, [])
    assert race.ready("device", 0.3) == [Hold("cloud"), Write("device")]
    assert race.token("cloud", 0.4) == (False, [])
    assert race.token("device", 0.5) == (True, [])
