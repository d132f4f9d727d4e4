"""Laws of what serves every mode: routes, requests, openings, and the table of sessions, with a mode that echoes."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import msgspec
import pytest
from echo import Echo, EchoMode
from fakes import ID, PLACES, FakePeer, FakeServer, Part, part, received

from hocket_bus.errors import BadRequest, Busy, Forbidden, HocketError, Unavailable
from hocket_bus.messages import (
    MAX_QUESTION_CHARS,
    Accepted,
    AggregationOptions,
    Ask,
    Begin,
    Cancel,
    Credit,
    Done,
    End,
    Error,
    Failed,
    Lost,
    Message,
    Ping,
    Prompt,
    Ready,
    Refused,
    Resume,
    Sampling,
    Sync,
    Token,
)
from hocket_bus.sockets import Received, Routes
from hocket_daemon.aggregation.mode import AggregationMode
from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_daemon.serving.mode import Facts
from hocket_daemon.serving.peers.openings import Openings
from hocket_daemon.serving.peers.peers import RoutePeer, Unlinked
from hocket_daemon.serving.sessions.requests import Requests
from hocket_daemon.serving.sessions.sessions import READING_ROW_S, READING_S, Sessions

SILENCE_S = 30.0


def number(n: int) -> bytes:
    return n.to_bytes(16, "big")


def ask(n: int = 0, question: str = "hello", mode: str = "echo", **other: object) -> Ask:
    return Ask(request=number(n), topic=ID, prompt=Prompt(query=question), mode=mode, task="complete", **other)  # type: ignore[arg-type]


def opening(n: int = 0, documents: int = 1) -> Begin:
    return Begin(
        session=number(n), epoch=0, prompt=Prompt(query="?"), task="answer", sampling=Sampling(), method="coupled",
        documents=documents, eos=[], weights="off", reweigh_every=1, relevance_temperature=1.0, wire_mass=1.0,
    )  # fmt: skip


@dataclass
class Daemon:
    """A side that serves the echo and the aggregation, by hand."""

    here: Part = field(default_factory=lambda: part("cloud", ["A text."]))
    server: FakeServer = field(default_factory=FakeServer)
    stopping: bool = False

    def __post_init__(self) -> None:
        services = self.here.services
        self.over: list[tuple[bytes, str, Facts]] = []
        self.sessions = Sessions(services.admission, SILENCE_S, lambda *told: self.over.append((*told[:2], told[2]())))
        self.echo, self.routes = EchoMode(self.here.model), Routes()
        aggregation = AggregationMode(services, AggregationSettings())
        self.requests = Requests(
            self,
            services,
            self.server,  # type: ignore[arg-type]
            self.sessions,
            {"echo": self.echo, "aggregation": aggregation},
            log_bytes=1 << 16,
        )
        self.requests.add_to(self.routes)
        server = self.server
        modes = {"echo": self.echo}
        openings = Openings(services, server, self.sessions, modes, self.check_taking)  # type: ignore[arg-type]
        openings.add_to(self.routes)

    def check_taking(self) -> None:
        if self.stopping:
            raise Unavailable("the daemon is stopping", "ask again")

    def peer(self) -> None:
        return None

    def say(self, message: Message, route: bytes = b"route", user: str = "user") -> Message | None:
        """What is answered on the route."""
        before = len(self.server.sent)
        self.routes.dispatch(received(message, route, user))
        answers = self.server.sent[before:]
        assert all(to == route for to, _ in answers)
        return answers[-1][1] if answers else None

    @property
    def places(self) -> int:
        return len(self.here.services.admission)

    @property
    def last(self) -> Echo:
        return self.echo.made[-1]

    def sweep(self) -> bool:
        return self.sessions.sweep(0.0)


# --- routes


def test_a_message_goes_to_those_who_take_it_in_their_order() -> None:
    """Two modes may share one; a handler that is added twice hears it once; what nobody takes is ignored."""
    heard: list[str] = []

    def first(event: Received) -> None:
        heard.append("first")

    def second(event: Received) -> None:
        heard.append("second")

    routes = Routes()
    routes.add([Ready, Sync], first)
    routes.add([Sync], second)
    routes.add([Sync], first)
    for message in (Sync(session=ID, epoch=0, confirmed=0, digest=0), Ping(sent_s=0.0), End(session=ID, reason="")):
        routes.dispatch(received(message))
    assert heard == ["first", "second"]


# --- requests


def test_a_question_is_echoed_and_its_place_is_given_back_once() -> None:
    """Accepted, its tokens, Done; asked again by its owner it is the same request."""
    daemon = Daemon()
    assert daemon.say(ask()) == Accepted(request=number(0))
    assert daemon.say(ask()) == Accepted(request=number(0))
    assert (daemon.places, len(daemon.echo.made), len(daemon.sessions)) == (1, 1, 1)
    while not daemon.last.closed:
        assert not daemon.sweep()
        daemon.last.write()
    assert daemon.sweep()
    assert not daemon.sweep()
    assert (daemon.places, len(daemon.sessions)) == (0, 0)
    assert daemon.over == [(number(0), "echo", {"closed": True})]
    assert "".join(event.text for event in daemon.server.published if isinstance(event, Token)) == "hello"
    assert isinstance(daemon.server.published[-1], Done)
    assert daemon.say(ask()) == Accepted(request=number(0))
    assert daemon.places == 0, "an answer that is still kept is not written again"


def test_small_talk_needs_no_documents_and_a_text_that_begins_so_does() -> None:
    """More were asked for than there are rows: a greeting is answered without any, and no text is gone on with so."""
    text = ask(question="Hello!", mode="aggregation", documents=9)
    assert isinstance(Daemon().say(text), Error)
    assert Daemon().say(msgspec.structs.replace(text, task="answer")) == Accepted(request=number(0))


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (ask(mode="gossip"), "unknown mode 'gossip': use one of: echo, aggregation"),
        (ask(question=" \n"), "the question is empty: ask something"),
        (ask(question="x" * (MAX_QUESTION_CHARS + 1)), "the question has 8001 characters, the limit is 8000"),
        (ask(stop=["a", ""]), "a stop text is empty: leave it out"),
        (
            ask(mode="aggregation", documents=9),
            "the question needs 9 rows, the model has 8 slots: ask for fewer documents",
        ),
        (ask(mode="aggregation", options=AggregationOptions(method="x")), "unknown aggregation 'x': use one of:"),
    ],
)
def test_what_cannot_be_asked_is_one_line_and_holds_nothing(asked: Ask, text: str) -> None:
    """It names what can be; no place is taken, and the number may be used for a better question."""
    daemon = Daemon()
    answer = daemon.say(asked)
    assert isinstance(answer, Error)
    assert (answer.code, answer.request) == ("bad_request", asked.request)
    line = f"{answer.text}: {answer.remedy}"
    assert line.startswith(text)
    assert "\n" not in line
    assert (daemon.places, daemon.server.published) == (0, [])
    assert daemon.here.services.counters.metrics()['errors_total{kind="bad_request"}'] == 1
    assert isinstance(daemon.say(ask()), Accepted)


def test_options_of_another_mode_are_refused() -> None:
    """Whatever they are, aggregation takes its own alone."""
    mode = AggregationMode(part("device", []).services, AggregationSettings())
    with pytest.raises(BadRequest, match="options do not apply to mode aggregation: leave them out"):
        mode.check(ask(options=object()))


def test_a_mode_that_cannot_begin_gives_its_place_back_and_ends_the_stream() -> None:
    """The reader's stream has one end, which says why."""
    daemon = Daemon()
    daemon.echo.trouble = Unavailable("no echo here", "go to the hills")
    assert isinstance(daemon.say(ask()), Accepted)
    (failed,) = daemon.server.published
    assert isinstance(failed, Failed)
    assert (failed.text, failed.remedy) == ("no echo here", "go to the hills")
    assert (daemon.places, len(daemon.sessions), daemon.over) == (0, 0, [])


def test_a_full_or_stopping_daemon_takes_no_question() -> None:
    """Busy says when to try again; a place that is given back is for the next."""
    daemon = Daemon()
    for n in range(PLACES):
        daemon.say(ask(n))
    full = daemon.say(ask(PLACES))
    assert isinstance(full, Error)
    assert full.code == "busy"
    assert full.retry_after_s > 0
    daemon.last.close()
    daemon.sweep()
    assert isinstance(daemon.say(ask(PLACES)), Accepted)
    daemon.stopping = True
    stopped = daemon.say(ask(99))
    assert isinstance(stopped, Error)
    assert (stopped.text, daemon.places) == ("the daemon is stopping", PLACES)


def test_a_request_is_its_clients_alone() -> None:
    """Another client can neither cancel nor read it, nor take its number; its own cancels it once."""
    daemon = Daemon()
    daemon.say(ask())
    assert daemon.say(Cancel(request=number(0)), user="thief") is None
    taken = daemon.say(ask(), user="thief")
    assert isinstance(taken, Error)
    assert (taken.code, taken.remedy) == ("bad_request", "choose a random number")
    resumed = daemon.say(Resume(request=number(0), topic=ID, seq=0), user="thief")
    assert isinstance(resumed, Error)
    assert not daemon.last.closed
    daemon.say(Cancel(request=number(0)))
    daemon.say(Cancel(request=number(0)))
    daemon.say(Cancel(request=number(7)))
    assert [type(event) for event in daemon.server.published] == [Done]
    assert daemon.sweep()
    assert daemon.places == 0


def test_a_reader_reads_on_where_it_was() -> None:
    """What it has no credit for waits; what it missed comes again; another topic is not its stream."""
    daemon = Daemon()
    daemon.say(ask(question="abcdef", window=2))
    while not daemon.last.closed:
        daemon.last.write()
    assert len(daemon.server.published) == 2
    assert daemon.say(Credit(request=number(0), topic=ID, seq=1)) is None
    assert len(daemon.server.published) == 3
    assert daemon.say(Resume(request=number(0), topic=ID, seq=0)) is None
    assert daemon.server.published[3:] == daemon.server.published[:3]
    wrong = daemon.say(Credit(request=number(0), topic=number(9), seq=1))
    assert isinstance(wrong, Error)
    assert not isinstance(wrong, Lost)


def test_a_client_that_has_gone_holds_no_place() -> None:
    """Its answer ends as cancelled once it has been silent for long enough, that of another goes on."""
    daemon = Daemon()
    daemon.say(ask(0), route=b"gone")
    daemon.say(ask(1), route=b"there")
    daemon.server.silent[b"gone"] = 61.0
    daemon.requests.tick(60.0)
    daemon.requests.forget()
    assert [session.closed for session in daemon.echo.made] == [True, False]
    (failed,) = daemon.server.published
    assert isinstance(failed, Failed)
    assert failed.code == "cancelled"
    daemon.sweep()
    daemon.requests.tick(60.0)
    assert daemon.places == 1


# --- openings


def test_a_session_and_a_request_of_one_number_hold_two_places() -> None:
    """Whatever numbers either chooses; each is given back with its own."""
    daemon = Daemon()
    daemon.say(ask())
    daemon.say(opening())
    assert (daemon.places, len(daemon.sessions)) == (2, 2)
    request, session = daemon.echo.made
    assert daemon.sessions.open_led()[0].session is request
    daemon.say(End(session=number(0), reason="done"))
    assert (daemon.places, request.closed, session.closed) == (1, False, True)
    assert daemon.sessions.open_led()[0].session is request
    request.close()
    assert daemon.sessions.led_as(number(0)) is None
    daemon.sweep()
    assert (daemon.places, len(daemon.over)) == (0, 2)


def test_a_session_is_its_users_alone() -> None:
    """Nobody else speaks in it, ends it or opens it anew; its own may come back by another route."""
    daemon = Daemon()
    daemon.say(opening(), route=b"first", user="Ann")
    ready = Ready(
        session=number(0), epoch=0, documents=0, best=0.5, scorer="", scorers=[], retrieval_s=0.0, prefill_s=0.0
    )
    for message in (opening(), ready, End(session=number(0), reason="")):
        daemon.say(message, user="Bob")
    assert (daemon.last.heard, daemon.last.closed, daemon.places) == ([], False, 1)
    daemon.say(opening(), route=b"second", user="Ann")
    daemon.say(ready, route=b"second", user="Ann")
    assert daemon.last.heard == ["reopened", ready]
    peer = daemon.last.peer
    assert isinstance(peer, RoutePeer)
    assert (peer.route, peer.up, peer.rtt_s, peer.silence_s) == (b"second", True, 0.125, 0.0)
    assert daemon.say(ready, user="nobody's") is None


def test_a_message_that_cannot_be_read_is_told_with_its_sender() -> None:
    """The session goes on; messages of unknown sessions are ignored."""
    daemon = Daemon()
    daemon.say(opening())
    sync = Sync(session=number(0), epoch=0, confirmed=0, digest=0)
    daemon.say(sync)
    assert daemon.server.bad == [(b"route", "user")]
    assert not daemon.last.closed
    daemon.last.close()
    daemon.say(sync)
    assert len(daemon.server.bad) == 1, "a session that is over hears nothing"
    daemon.say(Sync(session=number(5), epoch=0, confirmed=0, digest=0))
    daemon.say(End(session=number(5), reason=""))
    assert len(daemon.server.bad) == 1


@pytest.mark.parametrize(("stopping", "documents", "code"), [(True, 1, "unavailable"), (False, 9, "bad_request")])
def test_an_opening_that_cannot_be_taken_is_refused(stopping: bool, documents: int, code: str) -> None:
    """By a message of its mode, with what to do; nothing is held."""
    daemon = Daemon(stopping=stopping)
    refusal = daemon.say(opening(documents=documents))
    assert isinstance(refusal, Refused)
    assert (refusal.code, refusal.session) == (code, number(0))
    assert refusal.remedy
    assert (daemon.places, len(daemon.sessions)) == (0, 0)
    assert daemon.here.services.counters.metrics()[f'errors_total{{kind="{code}"}}'] == 1


def test_a_full_daemon_makes_room_by_what_is_over() -> None:
    """A closed session's place is free for an opening at once; otherwise the refusal says when to come again."""
    daemon = Daemon()
    for n in range(PLACES):
        daemon.say(opening(n))
    refusal = daemon.say(opening(PLACES))
    assert isinstance(refusal, Refused)
    assert (refusal.code, refusal.retry_after_s > 0) == ("busy", True)
    daemon.echo.made[0].close()
    assert daemon.say(opening(PLACES)) is None
    assert (daemon.places, len(daemon.echo.made)) == (PLACES, PLACES + 1)


def test_a_session_that_is_over_may_be_opened_anew() -> None:
    """Under its old number, before or behind the sweep."""
    daemon = Daemon()
    daemon.say(opening())
    daemon.last.close()
    daemon.say(opening())
    assert (daemon.places, len(daemon.echo.made), daemon.last.closed) == (1, 2, False)


# --- the table


def followed(sessions: Sessions, silence_s: float = 0.0) -> tuple[Echo, FakePeer]:
    peer = FakePeer("user", silence_s=silence_s)
    session = Echo(ID, peer)
    sessions.follow("echo", session, peer, 1, 0.0)
    return session, peer


def test_silence_ends_followed_sessions_but_not_those_that_may_be_reading() -> None:
    """Before its first word a side may read for long while its link lives; behind it, silence is the end."""
    ready = Ready(session=ID, epoch=0, documents=0, best=0.5, scorer="", scorers=[], retrieval_s=0.0, prefill_s=0.0)
    sessions = Daemon().sessions
    reading, _ = followed(sessions)
    assert sessions.due_s() == SILENCE_S
    sessions.tick(SILENCE_S + 1)
    assert not reading.closed
    assert sessions.due_s() == 2 * SILENCE_S + 1
    sessions.on_message(sessions.followed[ID], ready, 40.0)
    sessions.tick(40.0 + SILENCE_S)
    assert not reading.closed
    sessions.tick(40.1 + SILENCE_S)
    assert reading.closed
    sessions = Daemon().sessions
    gone, _ = followed(sessions, silence_s=SILENCE_S + 1)
    sessions.tick(SILENCE_S + 1)
    assert gone.closed
    sessions = Daemon().sessions
    endless, _ = followed(sessions)
    sessions.tick(READING_S + READING_ROW_S)
    assert endless.closed


def test_a_side_that_waits_for_this_one_to_read_may_be_silent_while_its_link_lives() -> None:
    """It has spoken, and has nothing to say before this side has read: a prompt may take longer than any silence."""
    ready = Ready(session=ID, epoch=0, documents=0, best=0.5, scorer="", scorers=[], retrieval_s=0.0, prefill_s=0.0)
    sessions = Daemon().sessions
    session, _ = followed(sessions)
    session.has_read = False
    sessions.on_message(sessions.followed[ID], ready, 1.0)
    for now in range(1, 10):
        sessions.tick(now * (SILENCE_S + 1))
    assert not session.closed
    session.has_read = True
    read_s = 10 * (SILENCE_S + 1)
    sessions.tick(read_s)  # the other side cannot have heard of it yet
    sessions.tick(read_s + SILENCE_S)
    assert not session.closed
    sessions.tick(read_s + SILENCE_S + 1)
    assert session.closed


def test_each_session_is_ticked_when_it_is_due_and_not_when_it_is_over() -> None:
    """Of both roles; without any there is nothing to wait for."""
    sessions = Daemon().sessions
    assert sessions.due_s() == inf
    led, over = Echo(ID, None, due=5.0), Echo(number(9), None, due=1.0, closed=True)
    sessions.lead(ID, "echo", led)
    sessions.lead(number(9), "echo", over)
    other, _ = followed(sessions)
    other.due = 7.0
    assert sessions.due_s() == 5.0
    sessions.tick(6.0)
    assert (led.heard, over.heard, other.heard) == ([6.0], [], [])
    sessions.tick(8.0)
    assert (led.heard, other.heard) == ([6.0], [8.0])


def test_all_open_sessions_hear_of_the_stop() -> None:
    """Clients are told to ask again, the other side that this one comes back; what is over hears nothing."""
    sessions = Daemon().sessions
    led, over = Echo(ID, None), Echo(number(9), None, closed=True)
    sessions.lead(ID, "echo", led)
    sessions.lead(number(9), "echo", over)
    other, _ = followed(sessions)
    assert [entry.session for entry in sessions.open_led()] == [led]
    sessions.stop("cloud")
    sessions.stop("cloud")
    errors = [session.heard[-1] for session in (led, other)]
    assert [str(error) for error in errors if isinstance(error, HocketError)] == [
        "the cloud daemon is stopping: ask again when it is back",
        "the cloud is stopping: it takes part again when it is back",
    ]
    assert over.heard == []


# --- peers


def test_a_device_without_a_link_has_a_peer_that_is_never_up() -> None:
    """Sending to it is an error, its round trip is not known."""
    peer = Unlinked(Forbidden("a policy"))
    assert (peer.up, peer.rtt_s, peer.silence_s, peer.user) == (False, 0.0, 0.0, "")
    with pytest.raises(Unavailable, match="no link"):
        peer.send(Ping(sent_s=0.0))


def test_busy_is_told_with_its_time() -> None:
    """A place is kept for a machine that was told so, before one that holds more."""
    daemon = Daemon()
    for n in range(PLACES):
        daemon.say(opening(n), user="greedy")
    daemon.say(opening(9), user="modest")
    daemon.echo.made[0].close()
    daemon.sweep()
    kept = daemon.say(opening(10), user="greedy")
    assert isinstance(kept, Refused)
    assert kept.text == "the free place is reserved for a machine that uses fewer"
    assert kept.code == Busy.code
    assert daemon.say(opening(9), user="modest") is None
