"""Laws of what is asked of a retrieval daemon: every question ends once, by a reply, an error or its time."""

from __future__ import annotations

import random
from math import inf
from typing import Any

import pytest
from fakes import FakePeer, received
from two_sides import Clock

from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.messages import Drop, Error, Passage, Passages, Place, Score, Scores, Search
from hocket_daemon.serving.search import retrieval
from hocket_daemon.serving.search.retrieval import (
    AGAIN_S,
    RESTART_S,
    UNDER_WAY,
    UNDER_WAY_KEY,
    WAIT_DOWN_S,
    WAIT_S,
    Lookups,
    RetrievalClient,
)

PASSAGE = Passage(document="a.txt", title="", ordinal=3, text="A text.", score=0.5)
LOADING = "the retrieval daemon is still loading"


class Asked:
    """A client whose link keeps what was sent, and what its questions ended with."""

    def __init__(self, clock: Clock, *, up: bool = True, settled: bool = True) -> None:
        self.clock, self.link, self.ended = clock, FakePeer(up=up), list[Any]()
        self.client = RetrievalClient(self.link, "device", "ipc:///r")  # type: ignore[arg-type]
        self.asker = self.client.lookups("Ann")
        if settled:
            clock.now += RESTART_S

    def search(self, asker: Lookups | None = None) -> Search:
        (asker or self.asker).search("who?", 2, "plain", self.ended.append)
        sent = self.link.sent[-1]
        assert isinstance(sent, Search)
        return sent

    def score(self) -> Score:
        self.asker.score("who?", [PASSAGE], "plain", self.ended.append)
        sent = self.link.sent[-1]
        assert isinstance(sent, Score)
        return sent

    def answer(self, request: bytes) -> None:
        found = Passages(request=request, passages=[], scorer="", scorers=[], documents_total=0, seconds=0.0)
        self.client.on_reply(received(found))

    def refuse(self, request: bytes, text: str = LOADING) -> None:
        self.client.on_reply(received(Error(code="unavailable", text=text, remedy="wait", request=request)))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(retrieval, "time", clock)
    return clock


def test_every_question_gets_its_own_reply_once(clock: Clock) -> None:
    """In whatever order they come; replies to nobody's question, and second ones, are ignored."""
    asked = Asked(clock)
    search, score = asked.search(), asked.score()
    assert (search.query, search.k, search.scorer, search.steps) == ("who?", 2, "plain", 1)
    assert score.places == [Place(document="a.txt", ordinal=3)]
    assert search.request != score.request
    found = Passages(request=search.request, passages=[], scorer="", scorers=[], documents_total=0, seconds=0.0)
    for message in (Scores(request=score.request, scores=[0.25]), found, found, Scores(request=bytes(16), scores=[])):
        asked.client.on_reply(received(message))
    assert asked.ended == [[0.25], found]
    assert asked.client.due_s == inf
    refused = asked.search()
    asked.client.on_reply(received(Error(code="bad_request", text="no", remedy="mend", request=refused.request)))
    assert isinstance(asked.ended[-1], HocketError)
    assert str(asked.ended[-1]) == "no: mend"


@pytest.mark.parametrize(("up", "wait_s"), [(True, WAIT_S), (False, WAIT_DOWN_S)])
def test_a_question_that_is_not_answered_ends_in_time(clock: Clock, up: bool, wait_s: float) -> None:
    """Sooner where the retrieval daemon is not there; the error says how to start it."""
    asked = Asked(clock, up=up)
    asked.search()
    assert asked.client.due_s == clock.now + wait_s
    asked.client.tick(clock.now + wait_s - 0.1)
    assert asked.ended == []
    for _ in range(2):
        asked.client.tick(clock.now + wait_s)
    (error,) = asked.ended
    assert isinstance(error, Unavailable)
    assert str(error).startswith("the device's retrieval daemon at ipc:///r does not answer: start it")


def test_a_daemon_that_is_back_is_asked_again_and_one_that_has_gone_is_not_waited_for(clock: Clock) -> None:
    """Both questions go again as they were; only scores, in the middle of an answer, wait less, and never more."""
    asked = Asked(clock)
    search, score = asked.search(), asked.score()
    asked.client.on_down()
    assert asked.client.due_s == clock.now + WAIT_DOWN_S
    asked.client.tick(clock.now + WAIT_DOWN_S)
    assert len(asked.ended) == 1
    asked.client.on_up()
    assert asked.link.sent == [search, score, search]
    asked.score()
    clock.now += WAIT_S - 1.0
    asked.client.on_down()
    assert asked.client.due_s == clock.now + 1.0


# --- the seconds after a start


@pytest.mark.parametrize("started", ["this one", "the retrieval daemon", "its link"])
def test_a_question_waits_for_a_retrieval_daemon_that_has_just_started(clock: Clock, started: str) -> None:
    """It is asked again while it is told to wait, and answered once; what it is told does not reach the reader."""
    asked = Asked(clock, settled=started != "this one")
    if started != "this one":
        asked.client.on_up()
        if started == "its link":
            clock.now += RESTART_S
            asked.client.on_down()
    search = asked.search()
    for _ in range(3):
        asked.refuse(search.request)
        assert asked.client.due_s == clock.now + AGAIN_S
        clock.now += AGAIN_S
        asked.client.tick(clock.now)
    assert asked.link.sent == [search] * 4
    assert asked.ended == []
    asked.answer(search.request)
    assert [type(end) for end in asked.ended] == [Passages]
    assert asked.client.due_s == inf


def test_a_retrieval_daemon_that_loads_for_too_long_is_told_as_it_says(clock: Clock) -> None:
    """Behind the seconds after a start its error ends the question at once; scores never wait for it."""
    asked = Asked(clock, settled=False)
    asked.refuse(asked.score().request)
    assert [str(end) for end in asked.ended] == [f"{LOADING}: wait"]
    search = asked.search()
    asked.refuse(search.request)
    clock.now += RESTART_S
    asked.refuse(search.request)
    asked.refuse(asked.search().request)
    assert [str(end) for end in asked.ended] == [f"{LOADING}: wait"] * 3
    asked = Asked(clock, settled=False)
    asked.refuse(asked.search().request)
    asked.client.tick(clock.now + RESTART_S)
    assert [str(end) for end in asked.ended] == [f"{LOADING}: wait"], "it fell silent meanwhile"


def test_one_that_is_absent_is_said_to_be_and_one_that_comes_and_goes_is_not_waited_for_without_end(
    clock: Clock,
) -> None:
    """Attempts to connect that fail begin no new wait; falls put a question off by one wait in all."""
    asked = Asked(clock, up=False)
    asked.search()
    asked.client.on_down()
    assert asked.client.due_s == clock.now + WAIT_DOWN_S
    asked = Asked(clock)
    asked.search()
    due_s = clock.now + WAIT_S + RESTART_S
    for _ in range(20):
        asked.client.on_up()
        clock.now += RESTART_S / 10
        asked.client.on_down()
        asked.client.tick(clock.now)
        assert [type(end) for end in asked.ended] == [Unavailable] * (clock.now >= due_s)
    assert clock.now > due_s


# --- turns


def test_a_key_has_few_requests_under_way_and_the_others_take_turns(clock: Clock) -> None:
    """One key's hundred searches: the next key's is sent at once, and no key's are more than its bound."""
    asked = Asked(clock)
    crowd = [asked.client.lookups("Mallory") for _ in range(100)]
    for asker in crowd:
        asker.search("m", 2, "", asked.ended.append)
    assert len(asked.link.sent) == UNDER_WAY_KEY
    asked.asker.search("a", 2, "", asked.ended.append)
    assert len(asked.link.sent) == UNDER_WAY_KEY + 1
    for key in range(UNDER_WAY):
        asked.client.lookups(f"key {key}").search(f"key {key}", 2, "", asked.ended.append)
    rng, answered = random.Random(4), set[bytes]()
    while open_now := [each for each in asked.link.sent if each.request not in answered]:  # type: ignore[attr-defined]
        assert len(open_now) <= UNDER_WAY
        assert sum(each.query == "m" for each in open_now) <= UNDER_WAY_KEY  # type: ignore[attr-defined]
        request = rng.choice(open_now).request  # type: ignore[attr-defined]
        answered.add(request)
        asked.answer(request)
    assert len(asked.ended) == len(asked.link.sent) == 101 + UNDER_WAY
    assert asked.client.due_s == inf


def test_what_nobody_waits_for_is_dropped_here_or_there(clock: Clock) -> None:
    """A closed session's: what was not sent never is, what was is dropped once and its late reply ignored. Until then
    it counts: who asks and leaves has no more under way than who stays."""
    asked = Asked(clock)
    for _ in range(50):
        asker = asked.client.lookups("Mallory")
        asker.search("m", 2, "", asked.ended.append)
        asker.close()
        asker.close()
    searches = [message for message in asked.link.sent if isinstance(message, Search)]
    assert len(searches) == UNDER_WAY_KEY
    drops = [message.request for message in asked.link.sent if isinstance(message, Drop)]
    assert drops == [search.request for search in searches]
    own = asked.search()
    for search in searches:
        asked.client.on_reply(received(Error(code="cancelled", text="nobody waits", remedy="", request=search.request)))
    assert asked.ended == []
    asked.answer(own.request)
    assert len(asked.ended) == 1
    again = asked.search()
    asked.asker.close()
    asked.client.tick(clock.now + WAIT_S)
    assert asked.client.due_s == inf
    asked.answer(again.request)
    assert len(asked.ended) == 1
    asked.client.on_up()
    waits = asked.search()  # to be asked again, since the retrieval daemon has just started
    asked.refuse(waits.request)
    asked.asker.close()
    sent = len(asked.link.sent)
    asked.client.tick(clock.now + AGAIN_S)
    assert len(asked.link.sent) == sent
    assert asked.client.due_s == inf
