"""Laws of sharing: the cloud ends with what may leave, whatever breaks, and with nothing where nothing may."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from hocket_bus.errors import Unavailable
from hocket_bus.messages import ListSubgraphs, Subgraph, Subgraphs, Summaries, SummariesHeld, Summary, Withdraw
from hocket_daemon.graph import sharing
from hocket_daemon.graph.sharing import ANSWER_S, POLL_S, Sharing

PAGE = 7


@dataclass
class World:
    """A graph, a cloud that keeps what it is told, and a wire that may lose any message."""

    allowed: bool = True
    loss: float = 0.0
    rng: random.Random = field(default_factory=lambda: random.Random(3))
    now: float = 100.0
    graph: dict[int, Subgraph] = field(default_factory=dict)
    state: int = 1
    held: dict[int, tuple[int, str]] = field(default_factory=dict)
    sent: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sharing = Sharing(self, self._send, allowed=self.allowed)  # type: ignore[arg-type]

    def monotonic(self) -> float:
        return self.now

    def ask(self, user: str, asked: ListSubgraphs, done: Callable[[Any], None]) -> None:
        """The retrieval daemon."""
        if self.rng.random() < self.loss:
            done(Unavailable("restarting"))
            return
        listed = [self.graph[id] for id in sorted(self.graph)]
        done(
            Subgraphs(
                request=asked.request,
                state=self.state,
                building=False,
                documents=1,
                entities=1,
                relations=1,
                modularity=0.0,
                subgraphs=listed[asked.offset : asked.offset + PAGE],
                total=len(listed),
                store="s",
            )
        )

    def change(self) -> None:
        """Some parts go, come or say something else."""
        for _ in range(self.rng.randint(1, 6)):
            id = self.rng.randint(1, 60)
            if id in self.graph and self.rng.random() < 0.4:
                del self.graph[id]
            else:
                version = self.graph[id].version + 1 if id in self.graph else 1
                text = self.rng.choice(["", f"{id} says {version}"])
                self.graph[id] = Subgraph(id=id, version=version, entities=1, documents=1, summary=text)
        self.state += 1

    def run(self, seconds: float) -> None:
        """Let time pass."""
        until = self.now + seconds
        while self.sharing.due_s <= until:
            self.now = max(self.now, self.sharing.due_s)
            self.sharing.tick(self.now)
            while self._answers:
                self.sharing.on_held(self._answers.pop(0), self.now)
        self.now = until

    _answers: list[SummariesHeld] = field(default_factory=list)

    def _send(self, message: Summaries | Withdraw) -> None:
        self.sent.append(message)
        if self.rng.random() < self.loss:
            return
        if isinstance(message, Withdraw):
            for id in message.ids or list(self.held):
                self.held.pop(id, None)
        else:
            self.held |= {each.id: (each.version, each.text) for each in message.summaries}
        if self.rng.random() >= self.loss:
            held = [Summary(id=id, version=version) for id, (version, _) in self.held.items()]
            self._answers.append(SummariesHeld(store="s", held=held))

    @property
    def may_leave(self) -> dict[int, tuple[int, str]]:
        return {id: (each.version, each.summary) for id, each in self.graph.items() if each.summary}


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Callable[..., World]:
    def made(**options: Any) -> World:
        world = World(**options)
        monkeypatch.setattr(sharing, "time", world)
        return world

    return made


@pytest.mark.parametrize("seed", range(12))
def test_the_cloud_ends_with_what_may_leave(world: Callable[..., World], seed: int) -> None:
    """Through changes, lost messages, links that break, and a cloud that forgets."""
    made = world(loss=0.2, rng=random.Random(seed))
    for _ in range(25):
        made.change()
        if made.rng.random() < 0.5:
            made.sharing.on_peer(made.rng.random() < 0.8, made.now)
        if made.rng.random() < 0.1:
            made.held.clear()
            made.sharing.on_peer(True, made.now)
        made.run(made.rng.uniform(0, 20))
    made.loss = 0.0
    made.sharing.on_peer(True, made.now)
    made.run(20 * ANSWER_S)
    assert made.held == made.may_leave


def test_what_is_held_is_not_sent_again_and_quiet_is_silent(world: Callable[..., World]) -> None:
    """Behind a new link one question, and nothing at all while nothing changes."""
    made = world()
    for _ in range(10):
        made.change()
    made.sharing.on_peer(True, made.now)
    made.run(60.0)
    assert made.held == made.may_leave
    assert made.sharing.counts == (len(made.held), len(made.held))
    made.sent.clear()
    made.run(100 * POLL_S)
    assert made.sent == []
    made.sharing.on_peer(True, made.now)
    assert made.sharing.counts == (0, len(made.held))
    made.run(60.0)
    assert made.sent == [Summaries(store="s")]


def test_who_may_share_nothing_tells_the_cloud_to_forget(world: Callable[..., World]) -> None:
    """Once a link, and no summary ever."""
    made = world(allowed=False)
    made.change()
    made.held = {4: (1, "an old one")}
    made.sharing.on_peer(True, made.now)
    made.run(100.0)
    assert made.held == {}
    assert [type(each) for each in made.sent] == [Withdraw]


def test_what_is_stopped_is_withdrawn_and_stays_so(world: Callable[..., World]) -> None:
    """Until the next start."""
    made = world()
    made.change()
    made.graph[1] = Subgraph(id=1, version=1, entities=1, documents=1, summary="one")
    made.sharing.on_peer(True, made.now)
    made.run(60.0)
    assert made.held
    made.sharing.stop()
    made.change()
    made.run(60.0)
    made.sharing.on_peer(True, made.now)
    made.run(60.0)
    assert made.held == {}


def test_a_cloud_that_refuses_is_not_asked_again_on_this_link(world: Callable[..., World]) -> None:
    """Its reason is shown."""
    made = world()
    made.change()
    made.graph[1] = Subgraph(id=1, version=1, entities=1, documents=1, summary="one")
    made.sharing.on_peer(True, made.now)
    made.sharing.tick(made.now)
    made._answers.clear()
    made.sharing.on_held(SummariesHeld(store="s", held=[], problem="in no group"), made.now)
    made.sent.clear()
    made.run(100.0)
    assert made.sent == []
    assert "in no group" in made.sharing.fact
