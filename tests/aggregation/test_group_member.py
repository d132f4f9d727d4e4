"""How long the asked device waits for one member, by its pure state machine."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import pytest

from hocket_daemon.aggregation.group.group_member import GroupMember, Patience
from hocket_daemon.aggregation.patience import REPORT_S

PATIENCE = Patience(step_s=1.0, longest_s=5.0)


def late(member: GroupMember, now: float) -> float:
    """When it is given up whose draft alone is missing from `now` on."""
    member.on_lacking(now, 7)
    assert member.awaited
    until_s = member.due_s
    assert member.tick(until_s) == "late"
    assert not member.awaited
    return until_s


def test_a_silent_one_costs_its_patience_once_and_is_asked_ever_more_seldom() -> None:
    """Without a sign of life it is waited for no more, however often it is asked."""
    member, waited, asked = GroupMember(PATIENCE, 0.1, now=0.0), [], []
    while (now := member.due_s) < 100:
        verdict = member.tick(now)
        (waited if verdict == "late" else asked).append(now)
        if verdict == "ask anew":
            member.on_asked()
        assert not member.awaited
    assert waited == [1.1]
    between = [after - before for before, after in pairwise([*waited, *asked])]
    assert between == pytest.approx([2.0, 4.0, 8.0, 16.0, 30.0, 30.0])


def test_who_says_again_and_again_that_it_has_read_is_waited_for_once() -> None:
    """And once more only when it was asked anew: so nobody can stall every step."""
    member = GroupMember(PATIENCE, 0.1, now=0.0)
    member.on_sign(0.0)
    member.on_ready()
    until_s = late(member, 3.0)
    assert until_s == 3.0 + 0.1 + 1.0
    for _ in range(5):
        member.on_ready()
        assert not member.awaited
    assert member.tick(member.due_s) == "ask anew"
    member.on_asked()
    member.on_ready()
    assert member.awaited
    late(member, 20.0)
    member.on_ready()
    assert not member.awaited


def test_who_reads_and_reports_it_is_waited_for_and_joins_when_it_has_read() -> None:
    """The answer begins without it after `longest_s`; who is gone never comes back."""
    member = GroupMember(PATIENCE, 0.1, now=0.0)
    member.on_sign(0.2)
    for report in range(1, 10):
        member.on_progress(0.2 + REPORT_S * report)
        assert member.tick(0.2 + REPORT_S * report) is None
    assert member.due_s == 5.2
    assert member.tick(5.2) == "late"
    member.on_ready()
    assert (member.awaited, member.due_s) == (True, inf)
    member.on_gone()
    member.on_asked()
    member.on_ready()
    member.on_lost(9.0)
    assert (member.state, member.due_s) == ("gone", inf)


def test_who_stops_reporting_is_waited_for_no_longer_than_a_step_and_two_reports() -> None:
    """While it reads, and while it decodes a step that takes long."""
    reading, slow = (GroupMember(PATIENCE, 0.1, now=0.0) for _ in range(2))
    reading.on_sign(0.2)
    assert reading.due_s == pytest.approx(0.2 + 2 * REPORT_S + 0.1 + 1.0)
    slow.on_ready()
    slow.on_lacking(3.0, 7)
    slow.on_progress(3.9)
    assert slow.due_s == pytest.approx(3.9 + 2 * REPORT_S + 0.1 + 1.0)
    slow.on_lacking(4.0, 8)
    assert slow.due_s == pytest.approx(4.0 + 0.1 + 1.0)


def test_who_is_the_last_at_every_step_is_waited_for_at_each_of_them() -> None:
    """However many there are; a step that it does not answer is waited for once, however often that is said."""
    member = GroupMember(PATIENCE, 0.3, now=0.0)
    member.on_ready()
    for step in range(50):  # a rejected draft costs a round trip each time: 25 s in all
        member.on_lacking(0.5 * step, step)
        member.on_lacking(0.5 * step + 0.2, step)
        assert member.due_s == pytest.approx(0.5 * step + 1.3)
        assert member.tick(0.5 * (step + 1)) is None
    member.on_lacking(25.0, None)
    assert member.due_s == inf
    assert late(member, 30.0) == 31.3
