"""Laws of the asked side's relation to the other one, for any order of events that a leader can bring about."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_bus.errors import Forbidden, HocketError, Unavailable, Untrusted
from hocket_daemon.aggregation.partner import (
    RETRY_S,
    Action,
    GiveUp,
    GoAlone,
    Join,
    Leave,
    Partner,
    Rejoin,
    Waits,
    Warn,
)

WAITS = Waits(connect_s=2.0, peer_s=10.0, rejoin_s=1.0)
LONGEST_S = 20.0  # for a side that reports progress
GONE = Unavailable("the cloud fell silent")
REASONS = {"down": GONE, "untrusted": Untrusted("keys do not fit"), "forbidden": Forbidden("it must not leave")}
EVENTS = ["up", "moved", *REASONS, "never", "busy", "answer", "token", "idle", "due", "late", "leave", "reads", "ready"]


@dataclass
class World:
    """What a leader would do with a partner, and what came of it."""

    partner: Partner
    up: bool
    now: float = 0.0
    solo: bool = False
    greeted: bool = False
    failed: bool = False
    said: list[tuple[Action, ...]] = field(default_factory=list)  # what each event led to

    @property
    def actions(self) -> list[Action]:
        return [action for turn in self.said for action in turn]

    @property
    def last(self) -> list[Action]:
        return list(self.said[-1])

    def take(self, actions: list[Action]) -> None:
        self.said.append(tuple(actions))
        for action in actions:
            if isinstance(action, GoAlone):
                self.solo, self.greeted = True, False
            elif isinstance(action, Rejoin):
                self.greeted = True
            elif isinstance(action, Leave):
                self.partner.mute()
            elif isinstance(action, GiveUp):
                self.failed = True

    def read(self, event: str) -> None:
        if event == "reads":
            self.partner.on_progress(self.now, 0.4, LONGEST_S)
        self.take(self.partner.on_ready(self.now) if event == "ready" else [])

    def happen(self, event: str) -> None:
        partner, heard = self.partner, self.up and self.partner.exists and self.partner.joined
        if event == "up" and not self.up:
            self.up = True
            self.take(partner.on_up(self.now))
        elif event == "moved" and self.up:
            self.take(partner.on_moved(self.now, GONE))
        elif event in REASONS:  # a link that is down says so after every attempt
            self.up = False
            self.take(partner.on_down(self.now, REASONS[event]))
        elif event in ("never", "busy") and heard:
            self.take(partner.on_refused(self.now, "full", "", 3.0 if event == "busy" else 0.0))
        elif event == "answer" and heard:
            self.solo = self.solo and not self.greeted
            partner.on_step(self.now, alone=self.solo, progress=True)
            self.said.append(())
        elif event == "token" and heard and not self.solo:
            self.take(partner.on_joint_token(self.now))
        elif event in ("due", "late", "idle") and partner.due_s < inf:
            self.now = max(self.now, partner.due_s)
            self.take(partner.tick(self.now, awaited=event == "late"))
        elif event in ("reads", "ready") and heard:
            self.read(event)
        elif event == "leave" and heard:
            self.take(partner.leave("unknown token", "it speaks another language", "mend it"))


@st.composite
def stories(draw: st.DrawFn) -> tuple[bool, bool, bool, list[tuple[str, float]]]:
    """Whether there is another side, whether it is required, whether it is up at first; then events and pauses."""
    events = st.lists(st.tuples(st.sampled_from(EVENTS), st.sampled_from([0.0, 0.5, 5.0])), max_size=40)
    return draw(st.sampled_from([True, True, True, False])), draw(st.booleans()), draw(st.booleans()), draw(events)


Story = tuple[bool, bool, bool, list[tuple[str, float]]]


def begun(exists: bool, required: bool, up: bool) -> World:
    world = World(Partner(WAITS, exists=exists, required=required, remedy="name a cloud"), up and exists)
    world.take(world.partner.start(0.0, world.up, None))
    return world


def told(story: Story) -> World:
    exists, required, up, events = story
    world = begun(exists, required, up)
    for event, pause_s in events:
        if world.failed:
            break
        world.now += pause_s
        world.happen(event)
        check_state(world)
    return world


def check_state(world: World) -> None:
    """While it waits for the other side, or for an answer to a greeting, there is a time at which it acts."""
    partner = world.partner
    waits = partner.exists and not partner.alone
    assert world.failed or not waits or partner.due_s < inf
    turn = world.said[-1] if world.said else ()
    assert not any(isinstance(action, Rejoin) for action in turn) or partner.due_s < inf
    assert not (partner.alone and partner.rejoining)
    assert world.failed or partner.alone == (world.solo or not partner.exists)


@given(stories())
def test_what_a_leader_is_told_to_do_makes_sense(story: Story) -> None:
    """Required, it never goes alone. The reader hears why it does, directly before. It joins once, and first."""
    world = told(story)
    exists, required, _, _ = story
    for turn in world.said:
        for before, action in zip((None, *turn), turn, strict=False):
            if isinstance(action, GoAlone):
                assert not required
                assert isinstance(before, Warn) == exists
                assert not isinstance(before, Warn) or before.text.endswith("; answering alone")
    kinds = [type(action) for action in world.actions]
    assert kinds.count(Join) <= 1
    assert kinds.count(GiveUp) <= required
    assert GiveUp not in kinds[:-1]
    if Rejoin in kinds:
        assert {Join, GoAlone} & set(kinds[: kinds.index(Rejoin)])
    if Leave in kinds:
        assert kinds[kinds.index(Leave) + 1 :] in ([Warn, GoAlone], [GiveUp])


@given(stories())
def test_nothing_counts_but_the_events(story: Story) -> None:
    """The same events lead to the same actions."""
    first, second = told(story), told(story)
    assert [list(map(repr, turn)) for turn in first.said] == [list(map(repr, turn)) for turn in second.said]


@given(stories())
def test_the_reader_hears_once_that_it_is_back(story: Story) -> None:
    """Between two times of being alone at most once, with the first token of both, and never before a break."""
    alone = False
    for action in told(story).actions:
        if isinstance(action, GoAlone):
            alone = True
        elif isinstance(action, Warn) and "is back" in action.text:
            assert alone
            alone = False


def pauses(world: World, number: int) -> list[float]:
    """Seconds between greetings that nobody answers."""
    found = []
    for _ in range(number):
        began = world.now
        world.happen("due")
        assert world.last == [Rejoin()]
        found.append(world.now - began)
    return found


def test_pauses_between_greetings_grow_and_start_anew_behind_a_token_of_both() -> None:
    """From the shortest to the longest by doubling; a draft alone is not yet a token."""
    world = begun(exists=True, required=False, up=True)
    world.happen("down")
    world.happen("up")
    assert world.last == [Rejoin()]
    assert pauses(world, 6) == [RETRY_S[0], 4.0, 8.0, 16.0, RETRY_S[1], RETRY_S[1]]
    world.happen("answer")
    world.happen("late")
    assert world.last == [Warn("the cloud is late; answering alone"), GoAlone()]
    assert pauses(world, 1) == [RETRY_S[1]]
    world.happen("answer")
    world.happen("token")
    assert world.last == [Warn("the cloud is back: answering together again")]
    world.happen("token")
    assert world.last == []
    world.happen("down")
    world.happen("up")
    assert pauses(world, 2) == [RETRY_S[0], 4.0]


def test_a_busy_side_is_greeted_when_it_said_and_another_never() -> None:
    """`retry_after_s` decides; whoever cannot take part at all is left in peace until the link comes again."""
    world = begun(exists=True, required=False, up=True)
    world.happen("busy")
    assert world.last == [Warn("the cloud cannot take part: full; answering alone"), GoAlone()]
    assert pauses(world, 1) == [3.0]
    world.happen("never")
    assert world.last == []
    assert world.partner.due_s == inf
    world.happen("down")
    world.happen("up")
    assert world.last == [Rejoin()]


@pytest.mark.parametrize(
    ("reason", "waits"), [(None, True), (GONE, True), (REASONS["untrusted"], False), (REASONS["forbidden"], False)]
)
def test_a_connection_is_waited_for_unless_it_is_refused(reason: HocketError | None, waits: bool) -> None:
    """A silence may still end in time; keys and a policy do not change meanwhile. The reason is told either way."""
    partner = Partner(WAITS, exists=True, required=False, remedy="")
    actions = partner.start(5.0, False, reason)
    assert (actions == []) == waits
    if waits:
        assert partner.due_s == 5.0 + WAITS.connect_s
        assert partner.tick(6.0, awaited=True) == []
        actions = partner.tick(7.0, awaited=True)
    text = reason.text if reason else "the cloud is not connected: check that its daemon is running"
    assert actions == [Warn(f"{text}; answering alone"), GoAlone()]


@pytest.mark.parametrize(("remedy", "kind"), [("name a cloud", GiveUp), ("", GoAlone)])
def test_without_another_side_it_is_alone_by_choice_or_fails_where_one_is_required(
    remedy: str, kind: type[Action]
) -> None:
    """A cloud that is asked directly has no cloud of its own: it is the one that was required."""
    (action,) = Partner(WAITS, exists=False, required=True, remedy=remedy).start(0.0, False, None)
    assert isinstance(action, kind)
    assert not isinstance(action, GiveUp) or action.error.remedy == remedy


@pytest.mark.parametrize("required", [True, False])
def test_drafts_that_lead_nowhere_are_as_good_as_none(required: bool) -> None:
    """Only progress moves the end of the wait; a wait that ends while nothing is awaited begins again."""
    partner = Partner(WAITS, exists=True, required=required, remedy="")
    partner.start(0.0, True, None)
    partner.on_step(4.0, alone=False, progress=True)
    assert partner.due_s == 14.0
    partner.on_step(9.0, alone=False, progress=False)
    assert partner.due_s == 14.0
    assert partner.tick(14.0, awaited=False) == []
    assert partner.due_s == 24.0
    actions = partner.tick(24.0, awaited=True)
    assert isinstance(actions[-1], GiveUp if required else GoAlone)


def test_a_side_that_was_let_go_is_never_spoken_to_again() -> None:
    """Not when it comes back, not when it is greeted, not when time passes."""
    world = begun(exists=True, required=False, up=True)
    world.happen("busy")
    world.happen("leave")
    assert [type(action) for action in world.said[-1]] == [Leave, Warn, GoAlone]
    for event in EVENTS * 2:
        world.now += 50.0
        world.happen(event)
    assert [type(action) for action in world.actions].count(Rejoin) == 0
    assert not world.partner.joined
    assert world.partner.due_s == inf


def test_the_first_joint_token_behind_a_break_has_its_own_wait() -> None:
    """Drafts that come meanwhile do not prolong it; behind the token the ordinary wait is back."""
    world = begun(exists=True, required=False, up=True)
    world.happen("busy")
    world.happen("due")
    world.happen("answer")
    assert world.partner.due_s == world.now + WAITS.rejoin_s
    until_s = world.partner.due_s
    world.now += 0.5
    world.happen("answer")
    assert world.partner.due_s == until_s
    world.happen("token")
    assert world.partner.due_s == world.now + WAITS.peer_s


def test_a_move_costs_no_solo_step() -> None:
    """A cloud whose place another one takes is greeted at once; where the device is alone, it is back."""
    world = begun(exists=True, required=False, up=True)
    world.take(world.partner.on_moved(0.0, GONE))
    assert [type(action) for action in world.actions] == [Join, Warn, Rejoin]
    assert (world.partner.together, world.partner.due_s) == (True, WAITS.peer_s)
    world.happen("late")
    assert world.partner.alone
    world.take(world.partner.on_moved(world.now, GONE))
    assert isinstance(world.last[-1], Rejoin)


def test_a_side_that_reports_progress_is_waited_for_and_a_silent_one_no_longer_than_before() -> None:
    """Each report moves the end of the wait, up to the longest one. Behind the last one it is the ordinary wait."""
    partner = Partner(WAITS, exists=True, required=False, remedy="")
    partner.start(0.0, True, None)
    for now in range(1, 9):
        partner.on_progress(float(now), now / 10, LONGEST_S)
    assert partner.due_s == 8.0 + WAITS.peer_s  # it falls silent here
    for now in range(9, 21):
        partner.on_progress(float(now), 0.8, LONGEST_S)
        assert partner.tick(float(now), awaited=True) == []
    assert partner.due_s == 1.0 + LONGEST_S
    text = "the cloud is still reading after 20 s (80%); answering alone"
    assert partner.tick(21.0, awaited=True) == [Warn(text), GoAlone()]


def test_a_side_that_is_required_is_waited_for_as_long_as_it_reports() -> None:
    """The question's own deadline ends that; silence does as before."""
    partner = Partner(WAITS, exists=True, required=True, remedy="")
    partner.start(0.0, True, None)
    for now in range(100):
        partner.on_progress(float(now), 0.1, LONGEST_S)
        assert partner.tick(float(now), awaited=True) == []
    assert partner.due_s == 99.0 + WAITS.peer_s
    assert isinstance(partner.tick(partner.due_s, awaited=True)[0], GiveUp)


def test_a_side_that_reads_while_this_one_is_alone_joins_when_it_has_read() -> None:
    """It is asked once, at once, and not before; a side that had not said that it reads is asked by the clock alone."""
    world = begun(exists=True, required=False, up=True)
    world.happen("reads")
    world.now = LONGEST_S
    world.happen("late")
    assert world.partner.alone
    for _ in range(5):
        world.now += 5.0
        world.happen("reads")
        assert world.partner.due_s > world.now
    world.happen("ready")
    assert world.last == [Rejoin()]
    world.happen("ready")
    assert world.last == []
    world.happen("answer")
    world.happen("token")
    assert world.last == [Warn("the cloud is back: answering together again")]
