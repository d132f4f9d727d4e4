"""Laws of a question beyond home: who is asked, what is believed, and that it ends once, whatever comes when."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any

import pytest

from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.messages import Evidence, Gather, Match, Matched, Matching, NoEvidence, Passage, Passages, Weigh
from hocket_daemon.graph import gathering
from hocket_daemon.graph.gathering import Gathering
from hocket_daemon.graph.members import Members
from hocket_daemon.graph.settings import FederationSettings
from hocket_daemon.serving.search.gatherer import Gathered

GROUPS = {"family": ["anna", "ben", "carl", "eve"], "firm": ["dora"]}


@dataclass
class Clock:
    """In the place of the module `time`."""

    now: float = 100.0

    def monotonic(self) -> float:
        return self.now


@dataclass
class Lookups:
    """Keeps what is asked of the retrieval daemon; the test answers."""

    waiting: list[tuple[Any, Callable[[Any], None]]] = field(default_factory=list)
    closed: bool = False

    def ask(self, asked: Any, done: Callable[[Any], None]) -> None:
        self.waiting.append((asked, done))

    def search(self, query: str, k: int, scorer: str, done: Callable[[Any], None]) -> None:
        self.waiting.append(((query, k, scorer), done))

    def close(self) -> None:
        self.closed = True

    def answer(self, kind: type | None, outcome: object) -> None:
        """The first request of a kind; None is the search."""
        at = next(
            n
            for n, (asked, _) in enumerate(self.waiting)
            if (isinstance(asked, kind) if kind else isinstance(asked, tuple))
        )
        self.waiting.pop(at)[1](outcome)


def passage(text: str, score: float = 0.0, **other: Any) -> Passage:
    return Passage(document="a.txt", title="", ordinal=0, text=text, score=score, **other)


def found(*passages: Passage) -> Passages:
    return Passages(
        request=bytes(16),
        passages=list(passages),
        scorer="s",
        scorers=["s"],
        documents_total=len(passages),
        seconds=0.0,
    )


@dataclass
class World:
    """A gathering of Anna's question, the devices that are connected, and what it led to."""

    here: tuple[str, ...] = ("ben", "carl", "eve")
    asker: str = "anna"
    k: int = 2
    clock: Clock = field(default_factory=Clock)
    sent: list[tuple[bytes, Gather]] = field(default_factory=list)
    ended: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.members = Members(GROUPS, lambda _: True)
        for name in self.here:
            self.members.here(name, name.encode())
        self.lookups = Lookups()
        self.gathering = Gathering(
            "Who?",
            self.k,
            asker=self.asker,
            members=self.members,
            settings=FederationSettings(groups={}, devices=2, gather_s=2.0),
            lookups=self.lookups,  # type: ignore[arg-type]
            send=lambda route, message: self.sent.append((route, message)),
            done=self.ended.append,
        )
        self.gathering.start("s")

    def match(self, *names: str) -> None:
        matches = [Matching(device=name, subgraph=1, score=1 - n / 10) for n, name in enumerate(names)]
        self.lookups.answer(Match, Matched(request=bytes(16), matches=matches))

    def tell(self, name: str, *texts: str) -> None:
        passages = [passage(text, score=0.99) for text in texts]
        self.gathering.on_evidence(name, Evidence(session=self.gathering.session, passages=passages))

    @property
    def asked(self) -> list[str]:
        return [route.decode() for route, _ in self.sent]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(gathering, "time", clock)
    return clock


def test_only_others_of_the_group_are_matched_and_the_best_two_asked() -> None:
    """The asker itself and other groups are not even looked at."""
    world = World()
    match = next(asked for asked, _ in world.lookups.waiting if isinstance(asked, Match))
    assert match.devices == ["ben", "carl", "eve"]
    world.match("carl", "carl", "ben", "eve")
    assert world.asked == ["carl", "ben"]


def test_evidence_is_scored_here_and_the_best_of_all_is_read() -> None:
    """Whatever scores a device gives; who told it is told."""
    world = World()
    world.match("ben", "carl")
    world.lookups.answer(None, found(passage("own", 0.5), passage("worse", 0.1)))
    world.tell("ben", "far off")
    world.tell("carl", "near")
    world.lookups.answer(Weigh, [0.2, 0.9])
    (outcome,) = world.ended
    assert isinstance(outcome, Gathered)
    assert [(each.text, each.device, each.score) for each in outcome.passages.passages] == [
        ("near", "carl", 0.9),
        ("own", "", 0.5),
    ]
    assert (outcome.matched, outcome.notices) == (["ben", "carl"], [])


def test_who_sleeps_is_named_and_asked_no_more_until_something_comes(clock: Clock) -> None:
    """The answer goes on without it at the deadline."""
    world = World()
    world.match("ben")
    world.lookups.answer(None, found(passage("own", 0.5)))
    assert world.gathering.due_s == clock.now + 2.0
    world.gathering.tick(clock.now + 1.9)
    assert world.ended == []
    world.gathering.tick(clock.now + 2.0)
    assert [notice for notice in world.ended[0].notices if "ben has not answered" in notice]
    assert world.members.route_of("ben") is None
    world.members.back(b"ben")
    assert world.members.route_of("ben") == b"ben"


def test_a_deadline_that_has_passed_is_none(clock: Clock) -> None:
    """Where the own search takes longer: who waits until `due_s` would not wait at all."""
    world = World()
    world.match("ben")
    world.gathering.tick(clock.now + 2.0)
    assert world.ended == []
    assert world.gathering.due_s == inf


def test_who_is_away_is_named_and_the_next_is_asked() -> None:
    """It had the better summaries."""
    world = World(here=("carl", "eve"))
    world.match("ben", "carl", "eve")
    assert world.asked == ["carl", "eve"]
    world.lookups.answer(None, found())
    for name in ("carl", "eve"):
        world.gathering.on_evidence(name, NoEvidence(session=world.gathering.session, why="nothing near"))
    (outcome,) = world.ended
    assert outcome.matched == ["ben", "carl", "eve"]
    assert any("ben, whose summaries match, is not connected" in notice for notice in outcome.notices)


def test_nobody_waits_where_there_is_nobody_to_ask() -> None:
    """A device of no group, or alone in it, gets the cloud's own passages at once."""
    for asker in ("dora", "nobody"):
        world = World(asker=asker)
        world.lookups.answer(None, found(passage("own", 0.5)))
        assert [each.text for each in world.ended[0].passages.passages] == ["own"]
        assert world.sent == []


@pytest.mark.parametrize("seed", range(40))
def test_it_ends_once_whatever_comes(seed: int, clock: Clock) -> None:
    """In any order: answers, false ones, repeated ones, devices that leave, errors, and the deadline."""
    rng, world = random.Random(seed), World()
    session = world.gathering.session
    steps: list[Callable[[], None]] = [
        lambda: world.match(*rng.sample(["ben", "carl", "eve"], 3)),
        lambda: world.lookups.answer(None, found(passage("own", 0.5)) if seed % 5 else Unavailable("down")),
        *(lambda name=name: world.tell(name, "x", f"of {name}") for name in ("ben", "carl", "eve", "dora", "ben")),
        lambda: world.gathering.on_evidence("carl", NoEvidence(session=session, why="no")),
        lambda: world.gathering.on_gone(rng.choice(["ben", "eve"])),
        lambda: world.gathering.tick(clock.now + rng.choice([0.0, 3.0])),
    ]
    rng.shuffle(steps)
    for step in steps:
        step()
    world.gathering.tick(clock.now + 3.0)
    while any(isinstance(asked, Weigh) for asked, _ in world.lookups.waiting):
        weigh = next(asked for asked, _ in world.lookups.waiting if isinstance(asked, Weigh))
        world.lookups.answer(Weigh, [0.5] * len(weigh.texts))
    assert len(world.ended) == 1
    assert world.lookups.closed
    if isinstance(world.ended[0], Gathered):
        assert {each.device for each in world.ended[0].passages.passages} <= {"", *world.asked}
        assert world.gathering.due_s == inf
    else:
        assert isinstance(world.ended[0], HocketError)
