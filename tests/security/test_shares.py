"""One machine takes what it can get of a running cloud; the others keep their share. Real sockets, keys and models."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest
from harness import ListRetrieval, Pair
from shares import Machine, about, begin, make_keys

from hocket_bus.messages import (
    Accepted,
    Cancel,
    Chunks,
    Done,
    Drop,
    Error,
    ListChunks,
    Message,
    Ready,
    Refused,
    Search,
)
from hocket_bus.sockets import Event, Received, Server
from hocket_daemon.serving import rates
from hocket_daemon.serving.admission import ORDINARY_ROWS
from hocket_daemon.serving.rates import BURST
from hocket_daemon.serving.search.retrieval import UNDER_WAY_KEY
from hocket_daemon.serving.sessions import sessions
from ports import free_port
from waiting import WAIT_S, until

PLACES, ROWS = 4, 16
Reach = Callable[[str], Machine]


@contextmanager
def cloud(models: dict[str, Path], retrieval: Callable[[Pair], object]) -> Iterator[tuple[Pair, Reach]]:
    """A cloud of a few places with this retrieval daemon, and how a machine reaches it."""
    with tempfile.TemporaryDirectory(prefix="hk") as name:
        folder, at = Path(name), f"tcp://127.0.0.1:{free_port()}"
        make_keys(folder, at)
        made = Pair(folder, models)
        made.keys = f"{folder}/cloud"
        with made.stack:
            retrieval(made)
            daemon = made.start_cloud(endpoint=at, max_sessions=PLACES)

            def reach(who: str) -> Machine:
                machine = Machine(at, folder / who, daemon.services.model.fingerprint)
                made.stack.callback(machine.close)
                return machine

            yield made, reach


@pytest.fixture
def ordinary(tiny_models: dict[str, Path]) -> Iterator[tuple[Pair, Reach]]:
    with cloud(tiny_models, lambda pair: pair.start_retrieval("cloud", documents=64)) as made:
        yield made


def answer(machine: Machine, session: bytes) -> Ready | Refused:
    """Whether the session was opened."""
    told = machine.hear(Message, lambda m: isinstance(m, Ready | Refused) and m.session == session)
    assert isinstance(told, Ready | Refused)
    return told


def opened(machine: Machine, documents: int = 2) -> Ready | Refused:
    opening = begin(documents=documents)
    machine.say(opening)
    return answer(machine, opening.session)


def test_one_key_cannot_take_the_last_place(ordinary: tuple[Pair, Reach]) -> None:
    """It opens what it gets; another one's first session is opened at the first word."""
    _, reach = ordinary
    mallory, alice = reach("mallory"), reach("alice")
    got = [opened(mallory) for _ in range(2 * PLACES)]
    assert [type(each) for each in got] == [Ready] * (PLACES - 1) + [Refused] * (PLACES + 1)
    assert isinstance(opened(alice), Ready)
    alice.say(asked := alice.ask())
    refused = alice.hear(Error, lambda m: m.request == asked.request)
    assert refused.code == "busy"


def test_one_session_of_many_documents_leaves_rows_for_others(ordinary: tuple[Pair, Reach]) -> None:
    """All rows are more than one machine may have; with as many as it may, another's session is opened at once."""
    _, reach = ordinary
    mallory, alice = reach("mallory"), reach("alice")
    refused = opened(mallory, ROWS)
    assert isinstance(refused, Refused)
    assert refused.code == "bad_request"
    assert isinstance(opened(mallory, ROWS - ORDINARY_ROWS), Ready)
    assert isinstance(opened(alice), Ready)


def test_sessions_in_which_nothing_is_said_make_room(
    ordinary: tuple[Pair, Reach], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alice has the place that is kept; Bob comes again when told to, and one of Mallory's is sent back for him."""
    monkeypatch.setattr(sessions, "QUIET_S", 0.2)
    made, reach = ordinary
    assert made.cloud is not None
    mallory, alice, bob = reach("mallory"), reach("alice"), reach("bob")
    for _ in range(PLACES - 1):
        assert isinstance(opened(mallory), Ready)
    assert isinstance(opened(alice), Ready)
    while isinstance(told := opened(bob), Refused):
        assert told.retry_after_s > 0
    sent_back = mallory.hear(Refused)
    assert (sent_back.code, sent_back.retry_after_s > 0) == ("busy", True)
    assert not any(isinstance(message, Refused) for message in alice.heard())


def test_one_number_for_everything_holds_no_more_than_there_is(ordinary: tuple[Pair, Reach]) -> None:
    """A session, a question and its end under one number, forty times: what is in work never exceeds the places, and
    all of them are free again when the sessions are over."""
    made, reach = ordinary
    assert made.cloud is not None
    mallory, alice = reach("mallory"), reach("alice")
    daemon = made.cloud
    for _ in range(40):
        number = os.urandom(16)
        mallory.say(begin(number), mallory.ask(number), Cancel(request=number))
        mallory.hear(Message, about(number))
        assert len(daemon.sessions) <= PLACES
        assert len(daemon.services.admission) <= PLACES
    assert isinstance(opened(alice), Ready)


class Slow(ListRetrieval):
    """It answers what is asked when the test says so, and the keeper of stored KV at once."""

    def __init__(self, endpoint: str) -> None:
        self.asked: SimpleQueue[tuple[Callable[[], None], Search]] = SimpleQueue()
        self.searches, self.drops = list[bytes](), list[bytes]()
        super().__init__(endpoint, "cloud")

    def _on_event(self, event: Event) -> None:
        if not isinstance(event, Received):
            return
        assert isinstance(event.port, Server)
        server, route, message = event.port, event.route, event.message
        if isinstance(message, Search):
            self.searches.append(message.request)
            self.asked.put((lambda: server.send(route, self.answer(message)), message))
        elif isinstance(message, Drop):
            self.drops.append(message.request)
        elif isinstance(message, ListChunks):
            server.send(route, Chunks(request=message.request, version=1, texts=[], last=0))


def test_a_flood_of_questions_taken_back_does_not_reach_the_retrieval_daemon(
    tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While that answers nothing: a few searches of the flood are there and told to be dropped, and Alice's is there
    beside them. The flood is told to come more slowly."""
    monkeypatch.setattr(rates, "BEGINS_S", 1.0)  # so that a slow machine floods, too
    made: list[Slow] = []

    def slow(pair: Pair) -> None:
        made.append(Slow(pair.endpoint("cloud-retrieval")))
        pair.stack.callback(made[0].close)

    with cloud(tiny_models, slow) as (_, reach):
        mallory, alice = reach("mallory"), reach("alice")
        (retrieval,) = made
        asks = [mallory.ask() for _ in range(3 * int(BURST))]
        told = list[Message]()
        for ask in asks[:UNDER_WAY_KEY]:  # one by one: a daemon that takes all in one turn has places for a few alone
            mallory.say(ask, Cancel(request=ask.request))
            told.append(mallory.hear(Message, about(ask.request)))
        for ask in asks[UNDER_WAY_KEY:]:
            mallory.say(ask, Cancel(request=ask.request))
        told += [mallory.hear(Message, about(ask.request)) for ask in asks[UNDER_WAY_KEY:]]
        refused = [each for each in told if isinstance(each, Error)]
        assert any("a second" in each.text for each in refused)
        assert {each.code for each in refused} == {"busy"}
        alice.say(asked := alice.ask())
        alice.hear(Accepted)
        until(lambda: len(retrieval.searches) == UNDER_WAY_KEY + 1)
        until(lambda: len(retrieval.drops) == UNDER_WAY_KEY)
        assert set(retrieval.drops) < set(retrieval.searches)
        for _ in range(UNDER_WAY_KEY + 1):
            retrieval.asked.get(timeout=WAIT_S)[0]()
        assert alice.hear(Done, lambda m: m.request == asked.request).finish == "length"
        with pytest.raises(Empty):
            retrieval.asked.get_nowait()


class Loading(ListRetrieval):
    """It says that it is loading, three times, and then answers."""

    told = 0

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Received) and isinstance(event.message, Search) and self.told < 3:
            self.told += 1
            assert isinstance(event.port, Server)
            loading = Error(
                code="unavailable",
                text="the retrieval daemon is still loading",
                remedy="try again in a few seconds",
                request=event.message.request,
            )
            event.port.send(event.route, loading)
        else:
            super()._on_event(event)


def test_a_question_right_after_the_start_waits_for_retrieval(tiny_models: dict[str, Path]) -> None:
    """It is answered when the documents are there; the reader is told of no trouble."""

    def loading(pair: Pair) -> None:
        pair.stack.callback(Loading(pair.endpoint("cloud-retrieval"), "cloud").close)

    with cloud(tiny_models, loading) as (_, reach):
        alice = reach("alice")
        alice.say(asked := alice.ask())
        alice.hear(Accepted)
        end = alice.hear(Message, about(asked.request))
        while not isinstance(end, Done):
            assert type(end).__name__ == "Token"
            end = alice.hear(Message, about(asked.request))
        assert len(end.token_ids) == 4
