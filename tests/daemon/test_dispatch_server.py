"""Laws of an answer dispatched to a server of text: its text is the answer's, and what moves goes on from it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from dispatch_sides import CLOCKED, DispatchSides, ask
from fakes import ID, FakePeer, Part, part
from two_sides import TEXTS, Clock

from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.messages import (
    MAX_REASONING_CHARS,
    MAX_THOUGHT_CHARS,
    Dispatch,
    Failed,
    Finish,
    Prompt,
    Reasoning,
    Sampling,
    Thought,
    Token,
    Turn,
)
from hocket_daemon.dispatch.follower import Follower
from hocket_daemon.dispatch.race import FIRST_S
from hocket_daemon.dispatch.settings import DispatchSettings
from hocket_daemon.engine.generators.generation import Usage
from hocket_daemon.engine.generators.generator import TextRequest, unread

GONE = Unavailable("the server broke off", "look at its log")
ANSWER = "Ada sang first at noon. Nobody else did so."


@dataclass
class FakeText:
    """A text on its way; the test says when a piece of it comes."""

    request: TextRequest
    on_text: Callable[[str], None]
    on_end: Callable[[Finish | HocketError], None]
    on_thought: Callable[[str], None]
    usage: Usage | None = None
    ended: bool = False
    left: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)

    def cancel(self) -> None:
        self.end("cancelled")

    def end(self, end: Finish | HocketError) -> None:
        if not self.ended:
            self.ended = True
            self.on_end(end)


@dataclass
class FakeServer:
    """Writes ANSWER in pieces of some letters, from whatever prefix it is given, behind its thoughts."""

    continues: bool = True
    is_here: bool = True
    place: str = "elsewhere"
    piece: int = 3
    thoughts: tuple[str, ...] = ()
    texts: list[FakeText] = field(default_factory=list)

    def generate(
        self,
        request: TextRequest,
        on_text: Callable[[str], None],
        on_end: Callable[..., None],
        on_thought: Callable[[str], None] = unread,
    ) -> FakeText:
        rest = ANSWER[len(request.prefix) :]
        fragments = [rest[at : at + self.piece] for at in range(0, len(rest), self.piece)]
        thoughts = [] if request.prefix else list(self.thoughts)
        text = FakeText(request, on_text, on_end, on_thought, left=fragments, thoughts=thoughts)
        self.texts.append(text)
        return text

    def chores(self) -> list[Callable[[], None]]:
        return [self.step] * any(not text.ended for text in self.texts)

    def step(self) -> None:
        text = next(text for text in self.texts if not text.ended)
        if text.thoughts:
            text.on_thought(text.thoughts.pop(0))
        elif text.left:
            text.on_text(text.left.pop(0))
        else:
            text.usage = Usage(7, 3)
            text.end("eos")


@pytest.fixture
def sides(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[DispatchSides, FakeServer]]:
    """A device and a server of text."""
    clock = Clock()
    for module in CLOCKED:
        monkeypatch.setattr(module, "time", clock)

    def made(asked: object, server: FakeServer | None = None, **options: object) -> tuple[DispatchSides, FakeServer]:
        server = server or FakeServer()
        device = part("device", TEXTS["device"], seed=1)
        device = ServedPart(device.side, device.model, device.compute, device.retrieval, device.services, server)
        device.services = replace(device.services, server=server)
        return DispatchSides(asked, clock, device=device, **options), server  # type: ignore[arg-type]

    return made


@dataclass
class ServedPart(Part):
    """A side that has a server of text."""

    server: FakeServer

    def chores(self) -> list[Callable[[], None]]:
        return super().chores() + self.server.chores()


Made = Callable[..., tuple[DispatchSides, FakeServer]]


def test_the_text_is_the_servers(sides: Made) -> None:
    """Whatever its pieces; the question alone has left, and nothing goes over the link."""
    for piece in (1, 3, 50):
        both, server = sides(ask(max_tokens=100, ignore_eos=False), FakeServer(piece=piece), script="cloud")
        both.begin()
        both.run_to_the_end()
        assert both.reader.done.text == ANSWER
        assert both.reader.done.finish == "eos"
        assert {token.source for token in both.reader.tokens} == {"cloud"}
        (text,) = server.texts
        assert text.request.prompt == both.asked.prompt.query
        assert not text.request.prefix
        assert not both.said
        assert not both.reader.done.sources
        record = both.leader.record()
        assert record["prefilled"]["cloud"] == 7
        assert record["cost"]["exact"]


def test_the_server_is_told_the_turns_that_it_has_read(sides: Made) -> None:
    """The first answer is its own, and goes along with the next question; what the device wrote stays."""
    both, server = sides(ask(max_tokens=100, ignore_eos=False, to="server"))
    both.begin()
    both.run_to_the_end()
    read, unread = Turn(query=both.asked.prompt.query, answer=ANSWER), Turn(query="Who?", answer="Anna.")
    both.again(ask(max_tokens=100, ignore_eos=False, to="server", turns=[unread, read]))
    both.run_to_the_end()
    assert server.texts[-1].request.turns == (read,)
    both.again(ask(max_tokens=4, to="device", turns=[unread, read]))
    both.run_to_the_end()
    own = Turn(query=both.asked.prompt.query, answer=both.reader.done.text)
    both.again(ask(max_tokens=100, ignore_eos=False, to="server", turns=[own, read]))
    both.run_to_the_end()
    assert server.texts[-1].request.turns == (read,)


@pytest.mark.parametrize("at", range(1, 30, 4))
def test_what_moves_from_the_server_goes_on_at_its_text(sides: Made, at: int) -> None:
    """The device's tokens are its own behind the server's; the server is stopped, and paid for as an estimate."""
    settings = DispatchSettings(migration="overlap")
    order = random.Random(at)
    both, server = sides(ask(max_tokens=50), settings=settings, order=order, script=f"cloud,{at}:device")
    both.device.model.prefill_tokens = 128  # in shorter parts the text may end before the device has caught up
    both.begin()
    both.run_to_the_end()
    ids = both.reader.done.token_ids
    first = next(token.step for token in both.reader.tokens if token.source == "device")
    assert both.device.model.text(ids[:first]) == ANSWER[:first]
    for step in range(first, len(ids)):
        assert ids[step] == both.next_token("device", ids[:step])
    assert server.texts[0].ended
    assert not both.leader.record()["cost"]["exact"]


def test_what_moves_to_the_server_is_its_prefix(sides: Made) -> None:
    """It is asked to go on behind the device's text; a chat is never asked to."""
    settings = DispatchSettings(migration="overlap")
    both, server = sides(ask(max_tokens=20), script="device,5:cloud", settings=settings)
    both.begin()
    both.run_to_the_end()
    ids = both.reader.done.token_ids
    assert server.texts[-1].request.prefix == both.device.model.text(ids[:5])
    assert server.texts[-1].request.sampling.max_tokens == 15
    both, server = sides(ask(max_tokens=20), FakeServer(continues=False), script="device,5:cloud", settings=settings)
    both.begin()
    both.run_to_the_end()
    assert not server.texts
    assert {token.source for token in both.reader.tokens} == {"device"}


@pytest.mark.parametrize("read", [0, 1, 9])
def test_a_server_that_breaks_off_leaves_the_device_to_go_on(sides: Made, read: int) -> None:
    """In the race and in the middle; nothing is doubled or lost."""
    both, server = sides(ask(max_tokens=40), FakeServer(piece=1), script="cloud")
    both.begin()
    both.run_while(lambda: len(both.reader.tokens) < read or not server.texts)
    read = len(both.reader.tokens)  # a blank comes with what follows it
    server.texts[-1].end(GONE)
    both.run_to_the_end()
    ids = both.reader.done.token_ids
    assert both.device.model.text(ids[:read]) == ANSWER[:read]
    for step in range(read, len(ids)):
        assert ids[step] == both.next_token("device", ids[:step])
    assert any("broke off" in notice for notice in both.reader.notices)


def test_an_error_never_wins_and_two_end_the_answer(sides: Made) -> None:
    """A server that fails before any text, and a device that is broken."""
    both, server = sides(ask(max_tokens=10), script="cloud")
    both.device.compute.broken = HocketError("the model broke", "mend it")
    both.begin()
    both.run_while(lambda: not server.texts)
    server.texts[-1].end(GONE)
    both.run_to_the_end()
    assert isinstance(both.reader.end, Failed)
    assert both.reader.failed.text == "the model broke"
    assert not both.reader.tokens


def test_a_cancelled_answer_closes_the_connection(sides: Made) -> None:
    """At once, and nothing is heard of it any more."""
    both, server = sides(ask(max_tokens=100), FakeServer(piece=1), script="cloud")
    leader = both.begin()
    both.run_while(lambda: len(both.reader.tokens) < 5)
    leader.cancel()
    assert server.texts[-1].ended
    assert both.reader.done.finish == "cancelled"


@dataclass
class FakeGatherer:
    """Asks nobody, and remembers what it was to ask."""

    asked: list[str] = field(default_factory=list)

    def gather(self, peer: object, question: str, k: int, scorer: str, done: object) -> Callable[[], None]:
        self.asked.append(question)
        return lambda: None


@pytest.mark.parametrize("is_here", [True, False])
def test_what_devices_know_is_read_on_the_clouds_machine_alone(is_here: bool) -> None:
    """They let the cloud read it: where its model is a server elsewhere, nobody is asked, and its own are searched."""
    cloud, gatherer = part("cloud", TEXTS["cloud"]), FakeGatherer()
    services = replace(cloud.services, reader=FakeServer(is_here=is_here), gatherer=gatherer)
    opening = Dispatch(
        session=ID,
        epoch=0,
        prompt=Prompt(query="Who sang?"),
        task="answer",
        sampling=Sampling(),
        documents=2,
        eos=[1],
        relevance_temperature=0.1,
        wire_mass=0.98,
        writer="cloud",
        escalates=True,
    )
    follower = Follower(services, opening, FakePeer("the device"), lambda: None)
    follower.start()
    assert gatherer.asked == ["Who sang?"] * is_here
    assert len(cloud.retrieval.asked) == (not is_here)


THOUGHTS = ("Who sang? ", "Ada did, ", "at noon.\n")


def test_an_answer_is_the_same_without_its_thoughts(sides: Made) -> None:
    """Its tokens, its text, its cost; what is thought is read before it, whole and in order, and is no turn."""
    ends, records = [], []
    for thoughts in ((), THOUGHTS):
        both, _ = sides(ask(max_tokens=100, ignore_eos=False, to="server"), FakeServer(thoughts=thoughts))
        both.begin()
        both.run_to_the_end()
        kinds = [type(event) for event in both.reader.events if isinstance(event, Thought | Token)]
        assert kinds == [Thought] * len(thoughts) + [Token] * len(both.reader.tokens)
        assert "".join(both.reader.thoughts) == both.reader.done.reasoning == "".join(thoughts)
        ends.append(both.reader.done)
        record = both.leader.record()
        records.append({name: record[name] for name in ("tokens", "prefilled", "decoded", "cost")})
        both.again(ask(to="server", turns=[Turn(query=both.asked.prompt.query, answer=ANSWER)]))
        assert both.leader._services.server.texts[-1].request.turns
    plain, other = ends
    assert (other.token_ids, other.text, other.finish) == (plain.token_ids, plain.text, plain.finish)
    assert other.dispatch == plain.dispatch
    assert records[0] == records[1]


def test_an_answer_with_thoughts_is_no_longer_than_it_may_be(sides: Made) -> None:
    """Whatever the server, which may write until all of its tokens are over, has of them left."""
    both, server = sides(ask(max_tokens=5, ignore_eos=False, to="server"), FakeServer(thoughts=THOUGHTS))
    both.begin()
    both.run_to_the_end()
    assert (len(both.reader.done.token_ids), both.reader.done.finish) == (5, "length")
    assert server.texts[0].request.thinks
    assert server.texts[0].ended


@pytest.mark.parametrize("to", ["", "server"])
def test_a_server_that_thinks_for_long_is_waited_for_where_it_was_named(sides: Made, to: str) -> None:
    """Else the device begins, and what was thought is no part of its answer."""
    options = {} if to else {"script": "cloud"}
    both, server = sides(ask(max_tokens=100, ignore_eos=False, to=to), FakeServer(thoughts=THOUGHTS * 30), **options)
    both.begin()
    both.run_while(lambda: not server.texts)
    for _ in range(10):
        both.clock.now += FIRST_S * 0.7
        both.leader.tick(both.clock.now)
        server.step()
    both.run_to_the_end()
    assert {token.source for token in both.reader.tokens} == {"cloud" if to else "device"}
    assert both.reader.done.reasoning == ("".join(THOUGHTS * 30) if to else "")


def test_a_server_that_fails_while_it_thinks_leaves_no_thoughts(sides: Made) -> None:
    """The device's answer has none of its own."""
    both, server = sides(ask(max_tokens=10), FakeServer(thoughts=THOUGHTS), script="cloud")
    both.begin()
    both.run_while(lambda: not server.texts)
    server.step()
    server.texts[-1].end(GONE)
    both.run_to_the_end()
    assert both.reader.thoughts == [THOUGHTS[0]]
    assert both.reader.done.reasoning == ""
    assert {token.source for token in both.reader.tokens} == {"device"}


def test_what_the_clouds_server_thinks_is_read_at_the_device() -> None:
    """In messages of their own, none too large; a device sends none."""
    cloud, peer = part("cloud", TEXTS["cloud"]), FakePeer("the device")
    server = FakeServer(thoughts=("a" * (MAX_THOUGHT_CHARS + 1), "b"))
    services = replace(cloud.services, reader=server)
    opening = Dispatch(
        session=ID, epoch=3, prompt=Prompt(query="Who sang?"), task="answer", sampling=Sampling(), documents=0,
        eos=[1], relevance_temperature=0.1, wire_mass=0.98, writer="cloud",
    )  # fmt: skip
    follower = Follower(services, opening, peer, lambda: None)
    follower.start()
    while not server.texts[0].ended:
        server.step()
    told = [message for message in peer.sent if isinstance(message, Reasoning)]
    assert [len(message.text) for message in told] == [MAX_THOUGHT_CHARS, 1, 1]
    assert "".join(message.text for message in told) == "".join(server.thoughts)
    assert {(message.session, message.epoch) for message in told} == {(ID, 3)}


@pytest.mark.parametrize("longer", [0, 1, MAX_THOUGHT_CHARS])
def test_a_thought_is_read_as_far_as_it_may_be_long(sides: Made, longer: int) -> None:
    whole = "x" * (MAX_REASONING_CHARS + longer)
    both, _ = sides(ask(max_tokens=5, to="server"), FakeServer(thoughts=(whole[:-1], whole[-1:])))
    both.begin()
    both.run_to_the_end()
    assert both.reader.done.reasoning == "".join(both.reader.thoughts) == whole[:MAX_REASONING_CHARS]
    assert max(map(len, both.reader.thoughts)) <= MAX_THOUGHT_CHARS


def test_what_is_thought_behind_the_first_token_is_read_by_nobody(sides: Made) -> None:
    """An answer's thoughts stand before it."""
    both, server = sides(ask(max_tokens=100, ignore_eos=False, to="server"), FakeServer(piece=1))
    both.begin()
    both.run_while(lambda: not both.reader.tokens)
    server.texts[0].on_thought("late")
    both.run_to_the_end()
    assert (both.reader.thoughts, both.reader.done.reasoning, both.reader.done.text) == ([], "", ANSWER)


@pytest.mark.parametrize("winner", ["device", "cloud"])
def test_in_a_race_nobodys_thoughts_are_read_before_the_first_token(sides: Made, winner: str) -> None:
    """Until then it is not known whose the answer is; with it the winner's are read."""
    both, server = sides(ask(max_tokens=8), FakeServer(thoughts=THOUGHTS), script="cloud")
    both.begin()
    both.run_while(lambda: not server.texts)
    both.clock.now += FIRST_S
    both.leader.tick(both.clock.now)
    for _ in THOUGHTS:
        server.step()
    assert (both.reader.thoughts, both.reader.tokens) == ([], [])
    while not both.reader.tokens:
        server.step() if winner == "cloud" else Part.chores(both.device)[0]()
    assert {token.source for token in both.reader.tokens} == {winner}
    both.run_to_the_end()
    expected = "".join(THOUGHTS) if winner == "cloud" else ""
    assert both.reader.done.reasoning == "".join(both.reader.thoughts) == expected
