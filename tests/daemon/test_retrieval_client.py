"""Laws of what is asked of a retrieval daemon: every question ends once, by a reply, an error or its time."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest
from fakes import FakePeer, received
from two_sides import Clock

from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.messages import Error, Passage, Passages, Place, Score, Scores, Search
from hocket_daemon.serving import retrieval
from hocket_daemon.serving.retrieval import WAIT_DOWN_S, WAIT_S, RetrievalClient

PASSAGE = Passage(document="a.txt", title="", ordinal=3, text="A text.", score=0.5)


class Asked:
    """A client whose link keeps what was sent, and what its questions ended with."""

    def __init__(self, clock: Clock, *, up: bool = True) -> None:
        self.clock, self.link, self.ended = clock, FakePeer(up=up), list[Any]()
        self.client = RetrievalClient(self.link, "device", "ipc:///r")  # type: ignore[arg-type]

    def search(self) -> Search:
        self.client.search("who?", 2, "plain", self.ended.append)
        sent = self.link.sent[-1]
        assert isinstance(sent, Search)
        return sent

    def score(self) -> Score:
        self.client.score("who?", [PASSAGE], "plain", self.ended.append)
        sent = self.link.sent[-1]
        assert isinstance(sent, Score)
        return sent


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(retrieval, "time", clock)
    return clock


def test_every_question_gets_its_own_reply_once(clock: Clock) -> None:
    """In whatever order they come; replies to nobody's question, and second ones, are ignored."""
    asked = Asked(clock)
    search, score = asked.search(), asked.score()
    assert (search.query, search.k, search.scorer) == ("who?", 2, "plain")
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
    asked.client.hurry()
    assert asked.client.due_s == clock.now + WAIT_DOWN_S
    asked.client.tick(clock.now + WAIT_DOWN_S)
    assert len(asked.ended) == 1
    asked.client.ask_again()
    assert asked.link.sent == [search, score, search]
    asked.score()
    clock.now += WAIT_S - 1.0
    asked.client.hurry()
    assert asked.client.due_s == clock.now + 1.0
