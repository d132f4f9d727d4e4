"""Laws of what the sides think: the reader gets one side's, whole and in order, whoever wins."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_bus.errors import Unavailable
from hocket_bus.messages import Side, other
from hocket_daemon.dispatch.race import FIRST_S, SIDES, Begin, Race
from hocket_daemon.dispatch.writers.thoughts import Thoughts

SIDE = st.sampled_from(SIDES)


@dataclass
class Read:
    """A reply, as far as thoughts know it."""

    published: str = ""
    reasoning: str = ""

    def think(self, text: str) -> None:
        self.published, self.reasoning = self.published + text, self.reasoning + text

    def forget_thoughts(self) -> None:
        self.reasoning = ""


@given(before=st.lists(st.tuples(SIDE, st.text(max_size=3))), winner=SIDE)
def test_the_winners_thoughts_are_the_answers(before: list[tuple[Side, str]], winner: Side) -> None:
    """While both may win nobody's are read; with the first token the winner's are."""
    read = Read()
    thoughts = Thoughts(read)  # type: ignore[arg-type]
    for side, text in before:
        thoughts.add(side, text, is_alone=False)
    assert read.published == ""
    thoughts.pass_on(winner)
    own = "".join(text for side, text in before if side == winner)
    assert read.published == read.reasoning == own


@given(first=SIDE, live=st.lists(st.text(max_size=3)), late=st.lists(st.text(max_size=3)), winner=SIDE)
def test_a_side_alone_is_read_at_once_and_forgotten_where_the_other_wins(
    first: Side, live: list[str], late: list[str], winner: Side
) -> None:
    read = Read()
    thoughts = Thoughts(read)  # type: ignore[arg-type]
    for text in live:
        thoughts.add(first, text, is_alone=True)
    assert read.published == "".join(live)
    for text in late:
        thoughts.add(other(first), text, is_alone=False)
    thoughts.pass_on(winner)
    own = live if winner == first else late
    assert read.reasoning == "".join(own)


@pytest.mark.parametrize("side", SIDES)
def test_a_side_is_alone_while_no_other_may_begin(side: Side) -> None:
    """And where the other one has failed; not once both are asked, or are about to be."""
    race = Race()
    race.start(0.0, {side: 0.0})
    assert (race.is_alone(side), race.is_alone(other(side))) == (True, False)
    race.tick(FIRST_S)
    assert (race.is_alone(side), race.is_alone(other(side))) == (False, False)
    race.gone(other(side), Unavailable("it broke"), FIRST_S)
    assert race.is_alone(side)
    race = Race()
    race.start(0.0, {side: 0.0, other(side): 5.0})
    assert not race.is_alone(side)


@pytest.mark.parametrize("side", SIDES)
def test_a_side_that_thinks_is_not_late(side: Side) -> None:
    """As long as it goes on; who was not asked thinks for nobody."""
    race = Race()
    race.start(0.0, {side: 0.0})
    race.thinks(other(side), 1.0)
    assert race.due_s == FIRST_S
    race.thinks(side, 4.0)
    assert race.tick(FIRST_S) == []
    assert race.tick(4.0 + FIRST_S) == [Begin(other(side))]
    race.thinks(side, inf)
    race.token(side, 20.0)
    due_s = race.due_s
    race.thinks(side, 21.0)
    assert race.due_s == due_s
