"""Laws of who may begin where several machines come: whatever one key does, another one has its share."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from echo import Echo
from fakes import FakePeer

from hocket_bus.errors import BadRequest, Busy
from hocket_daemon.serving.admission import ORDINARY_ROWS, Admission
from hocket_daemon.serving.rates import BEGINS_S, BURST, Rates
from hocket_daemon.serving.sessions.sessions import (
    QUIET_S,
    READING_ROW_S,
    READING_S,
    TURN_S,
    Sessions,
    place_of_session,
)

SILENCE_S = 30.0
PLACES, ROWS = 8, 17


def number(n: int) -> bytes:
    return n.to_bytes(16, "big")


# --- places and rows


@pytest.mark.parametrize(("places", "rows"), [(2, 6), (3, 7), (8, 16), (16, 64)])
def test_whatever_one_key_does_another_that_holds_nothing_is_admitted_at_once(places: int, rows: int) -> None:
    """Over random beginnings and ends of a key that takes what it gets, of sessions of any size, and refused ones:
    at any moment each of the others in turn gets an ordinary session, and what is promised is never exceeded."""
    rng, admission = random.Random(places), Admission(places, rows, shared=True)
    held: dict[int, int] = {}
    now_s, maximum = 0.0, 0
    for n in range(4_000):
        now_s += rng.choice([0.0, 0.01, 1.0])
        if held and rng.random() < 0.2:
            admission.leave(gone := rng.choice(list(held)), now_s)
            del held[gone]
        asked = rng.choice([1, 2, 2, rng.randint(1, rows + 1)])
        with suppress(Busy, BadRequest):
            admission.enter(n, "hostile", asked, now_s)
            held[n] = asked
        maximum = max(maximum, len(held))
        assert len(held) == len(admission) <= places - 1
        assert sum(held.values()) <= rows - ORDINARY_ROWS
        if rng.random() < 0.3:
            admission.enter("other", rng.choice("abc"), rng.randint(1, ORDINARY_ROWS), now_s)
            admission.leave("other", now_s)
    assert maximum > places // 2 - 1, "a key has the use of what nobody else wants"


def test_one_key_may_have_everything_where_no_other_can_come() -> None:
    """Behind a folder's permissions all are one; with several keys it is all but one place and an ordinary session."""
    alone, shared = Admission(PLACES, ROWS), Admission(PLACES, ROWS, shared=True)
    for n in range(PLACES):
        alone.enter(n, "", 2, 0.0)
    Admission(PLACES, ROWS).enter(0, "", ROWS, 0.0)
    for n in range(PLACES - 1):
        shared.enter(n, "a", 2, 0.0)
    with pytest.raises(Busy, match="reserved for a machine that uses none"):
        shared.enter("more", "a", 1, 0.0)
    shared.enter("more", "b", 2, 0.0)
    maximum = ROWS - ORDINARY_ROWS
    Admission(PLACES, ROWS, shared=True).enter(0, "a", maximum, 0.0)
    with pytest.raises(BadRequest, match="the question needs 15 rows, the model has 17 slots, of which .* have 14"):
        shared.enter("most", "c", maximum + 1, 0.0)
    for places, rows in ((1, 9), (2, 2), (2, 5)):
        Admission(places, rows, shared=True).enter(0, "a", min(rows, 2), 0.0)


def test_whoever_was_refused_presses_those_alone_who_would_still_hold_more() -> None:
    """By places or by rows; as long as it may come back; and nobody presses itself."""
    admission = Admission(3, 20, shared=True)
    admission.enter(1, "two", 1, 0.0)
    admission.enter(2, "two", 1, 0.0)
    admission.enter(3, "one", 1, 0.0)
    assert not admission.pressed("two", 0.0)
    with pytest.raises(Busy) as busy:
        admission.enter(4, "none", 1, 0.0)
    assert admission.pressed("two", 0.0)
    assert not admission.pressed("one", 0.0)
    assert not admission.pressed("none", 0.0)
    assert not admission.pressed("two", 2 * busy.value.retry_after_s)
    admission = Admission(9, 20, shared=True)
    admission.enter(1, "wide", 17, 0.0)
    admission.enter(2, "narrow", 2, 0.0)
    with pytest.raises(Busy):
        admission.enter(3, "none", 2, 0.0)
    assert admission.pressed("wide", 0.0)
    assert not admission.pressed("narrow", 0.0)


def test_a_key_that_waits_for_more_than_others_have_takes_nothing_from_them() -> None:
    """Nor is anything kept for it: asking for much again and again keeps no other key from its second session."""
    admission = Admission(PLACES, ROWS, shared=True)
    admission.enter("first", "honest", 2, 0.0)
    with pytest.raises(Busy):
        admission.enter("all", "hostile", ROWS - ORDINARY_ROWS, 0.0)
    admission.enter("second", "honest", 2, 0.0)
    assert not admission.pressed("honest", 0.0)


# --- beginnings


def test_a_key_begins_as_often_as_it_may_and_no_other_feels_it() -> None:
    """A burst, then so many a second, told when to come; refused ones cost nothing."""
    rates, now_s, begun = Rates(), 50.0, 0
    for _ in range(4_000):
        now_s += 1 / 400
        with suppress(Busy):
            rates.begin("hostile", now_s)
            begun += 1
        rates.begin(f"other {now_s}", now_s)
    assert begun == pytest.approx(BURST + BEGINS_S * 10, abs=1)
    rates = Rates()
    for _ in range(int(BURST)):
        rates.begin("hostile", now_s)
    with pytest.raises(Busy) as busy:
        rates.begin("hostile", now_s)
    rates.begin("hostile", now_s + busy.value.retry_after_s + 1e-6)


def test_a_question_beyond_the_rate_takes_no_place_and_presses_nobody() -> None:
    """It is refused before anything else is looked at."""
    admission = Admission(PLACES, ROWS, shared=True)
    for n in range(int(BURST)):
        admission.enter(n, "a", 1, 0.0)
        admission.leave(n, 0.0)
    admission.enter("first", "b", 1, 0.0)
    admission.enter("second", "b", 1, 0.0)
    with pytest.raises(Busy, match="a second"):
        admission.enter("more", "a", 1, 0.0)
    assert len(admission) == 2
    assert not admission.pressed("b", 0.0)


# --- sessions that stand still


class Cloud:
    """Places and sessions, by hand; `now` is the clock."""

    def __init__(self) -> None:
        self.admission, self.now = Admission(PLACES, ROWS, shared=True), 0.0
        self.sessions = Sessions(self.admission, SILENCE_S, lambda *_: None)
        self.made: list[Echo] = []

    def open(self, user: str, rows: int = 1) -> Echo:
        """Raises Busy."""
        self.pass_s(0.0)
        session = Echo(number(len(self.made)), None)
        self.admission.enter(place_of_session(session.id), user, rows, self.now)
        self.sessions.follow("echo", session, FakePeer(user), rows, self.now)
        self.made.append(session)
        return session

    def pass_s(self, seconds: float) -> None:
        """Time, ticked as the daemon ticks."""
        end_s = self.now + seconds
        while True:
            self.sessions.tick(self.now)
            self.sessions.sweep(self.now)
            if self.now >= end_s:
                return
            self.now = min(end_s, self.now + 5.0, max(self.now + 0.01, self.sessions.due_s()))


def sent_back(session: Echo) -> bool:
    """It was told when to come again."""
    return session.closed and isinstance(session.heard[-1], Busy) and session.heard[-1].retry_after_s > 0


def come(cloud: Cloud, user: str, rows: int = 2) -> float:
    """Open a session, coming back when told to; how long it took."""
    began_s = cloud.now
    while True:
        try:
            cloud.open(user, rows).steps = 1
        except Busy as busy:
            cloud.pass_s(busy.retry_after_s)
        else:
            return cloud.now - began_s


@pytest.mark.parametrize("rows", [1, ROWS - ORDINARY_ROWS])
def test_sessions_that_stand_still_make_room_for_those_who_hold_less(rows: int) -> None:
    """One key's silent sessions hold what they can: the first other key gets its place at once, the second as soon as
    standing still is no longer borne; the session is told when to come back. Without others they stay."""
    cloud = Cloud()
    with suppress(Busy):
        while True:
            cloud.open("hostile", rows)
    hostile = list(cloud.made)
    cloud.pass_s(READING_S)
    assert not any(session.closed for session in hostile)
    assert come(cloud, "a") == 0
    assert come(cloud, "b") <= 10.0
    assert any(map(sent_back, hostile))


def test_a_session_that_goes_on_has_its_turn_and_no_more_while_others_wait() -> None:
    """A token now and then keeps it for TURN_S; one that holds no more than whoever waits is never sent back."""
    cloud = Cloud()
    hostile = [cloud.open("hostile") for _ in range(PLACES - 1)]
    cloud.open("a").steps = 1
    waited_s = 0.0
    while True:
        try:
            cloud.open("b", 1)
        except Busy as busy:
            for session in hostile:
                session.steps += 1
            cloud.pass_s(min(busy.retry_after_s, QUIET_S / 2))
            waited_s = cloud.now
        else:
            break
    assert TURN_S <= waited_s <= TURN_S + 10.0
    cloud = Cloud()
    honest = [cloud.open(f"key {n}") for n in range(PLACES)]
    for session in honest:
        session.steps = 1
    for _ in range(8):
        with pytest.raises(Busy):
            cloud.open("late", 1)
        cloud.pass_s(QUIET_S)
    assert not any(session.closed for session in honest)


def test_a_session_of_which_nothing_comes_is_ended_in_any_case() -> None:
    """Whatever is said of it, when the other side has had the time to read; reading here does not count."""
    for spoken in (True, False):
        cloud = Cloud()
        session = cloud.open("a", 2)
        session.has_read = False
        for _ in range(30):
            cloud.pass_s(SILENCE_S / 2)
            if spoken:
                cloud.sessions.followed[session.id].received_s = cloud.now
        assert not session.closed
        session.has_read = True
        read_s = cloud.now
        while not session.closed:
            cloud.pass_s(1.0)
            if spoken and not session.closed:
                cloud.sessions.followed[session.id].received_s = cloud.now
        assert sent_back(session)
        assert cloud.now - read_s == pytest.approx(READING_S + 2 * READING_ROW_S, abs=6.0)


def test_a_slow_device_may_read_two_long_passages() -> None:
    """2,000 tokens each at 100 a second, behind which it drafts; unless others wait it may be slower still."""
    cloud = Cloud()
    session = cloud.open("laptop", 2)
    cloud.pass_s(2 * 2_000 / 100)
    assert not session.closed
    cloud.pass_s(READING_S - 1.0)
    session.steps = 1
    cloud.pass_s(0.0)
    assert not session.closed
