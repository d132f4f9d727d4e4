"""The draft exchange of a group, driven over simulated links by the code that the daemons run."""

from __future__ import annotations

from itertools import groupby, pairwise

import pytest
from group_simulation import LEADER, GroupWorld, check


@pytest.mark.parametrize("members", [1, 2, 4, 7])
def test_ids_are_those_of_one_process_that_holds_all_distributions(members: int) -> None:
    """Whatever the delays, speeds and windows; the parts of all parties sum to 1, and who proposed a token is known.

    Nobody is out who answers every step in time, however often all wait for him. Some drafts need not be waited for.
    """
    unneeded = 0
    for seed in range(12):
        world = check(seed, members)
        unneeded += world.unneeded
        for trace in world.leader.exchange.traces:
            assert trace.part + sum(trace.others.values()) == pytest.approx(1.0)
            assert trace.drafted <= {LEADER, *trace.others}
        assert {len(each) for each in world.roster} == {members}
    assert unneeded


@pytest.mark.slow
def test_breaks_and_kills_change_no_token_but_by_the_recorded_members() -> None:
    """Members that come late, fall silent, lose messages or forget the session are out, and come back at a prefix."""
    worlds = [check(seed, 1 + seed % 4, breaks=True) for seed in range(1000, 1040)]
    rosters = [world.roster for world in worlds]
    assert any(len(set(roster)) > 2 for roster in rosters), "nobody has left and come back"
    assert any(not all(roster) for roster in rosters), "the device was never alone"
    assert any(name not in world.killed and comes_back(world, name) for world in worlds for name in world.remote)
    assert any(name in world.killed and comes_back(world, name) for world in worlds for name in world.remote)
    assert any(len(before) < len(after) for roster in rosters for before, after in pairwise(roster))


def comes_back(world: GroupWorld, name: str) -> bool:
    """Whether a member had part, had none, and had part again."""
    turns = [there for there, _ in groupby(name in present for present in world.roster)]
    return turns[-3:] == [True, False, True]


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_ten_thousand_sessions() -> None:
    """The whole of the two laws above."""
    for seed in range(10_000):
        check(seed, 1 + seed % 8, breaks=seed % 2 == 1)
