"""Laws of a queue with turns: nothing is lost or doubled, a line keeps its order, nobody is served twice before one."""

from __future__ import annotations

import random

import pytest

from hocket_bus.limits.turns import Turns


def test_random_lines_are_served_in_turns_and_in_order() -> None:
    """Over random puts, takes and drops: what comes out was put in and not dropped, each line's in its order, and
    between two items of one key every other key that waited all the time has had one."""
    rng, turns = random.Random(7), Turns[str, int]()
    waiting: dict[str, list[int]] = {}
    since: dict[str, set[str]] = {}  # by key: who was served while it waited
    for number in range(5_000):
        key, act = rng.choice("aaaaaabcd"), rng.random()
        if act < 0.45:
            turns.put(key, number)
            if not waiting.get(key):
                since[key] = set()
            waiting.setdefault(key, []).append(number)
        elif act < 0.55:
            dropped = turns.drop(key, lambda item: item % 3 == 0)
            assert dropped == [item for item in waiting.get(key, []) if item % 3 == 0]
            waiting[key] = [item for item in waiting.get(key, []) if item % 3]
        else:
            item = turns.take()
            waiting = {name: line for name, line in waiting.items() if line}
            since = {name: served for name, served in since.items() if name in waiting}
            if item is None:
                assert not waiting
                continue
            served = next(name for name, line in waiting.items() if item in line)
            assert waiting[served].pop(0) == item
            assert all(served not in others for name, others in since.items() if name != served)
            for others in since.values():
                others.add(served)
            since[served] = set()
        assert len(turns) == sum(map(len, waiting.values()))
        assert turns.length(key) == len(waiting.get(key, []))


def test_only_lines_that_may_are_served_and_the_longest_is_cut_at_its_end() -> None:
    """A line that may not keeps its turn."""
    turns = Turns[str, int]()
    with pytest.raises(IndexError):
        turns.cut_longest()
    for item in range(3):
        turns.put("long", item)
    turns.put("short", 9)
    assert turns.take({"long"}) == 9
    assert turns.take({"long"}) is None
    turns.put("short", 8)
    assert (turns.cut_longest(), turns.take(), turns.take(), turns.take(), turns.take()) == (2, 0, 8, 1, None)
