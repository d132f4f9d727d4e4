"""An answer in parts as a session: each part in its turn, one stream, one end."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import ID, Reader, part

from hocket_bus.errors import BadRequest, HocketError, Unavailable
from hocket_bus.messages import Ask, Prompt, Sampling, Turn
from hocket_daemon.serving.mode import Session
from hocket_daemon.serving.sessions.part_by_part import PartByPart
from hocket_daemon.serving.stream.reply import Reply

EOS = 1
PARTS = ["What is the rent?", "Who owns the house?"]


class Scripted:
    """A session of a part, whose answer the test writes."""

    def __init__(self, ask: Ask, reply: Reply) -> None:
        self.ask, self.reply, self.id, self.closed = ask, reply, ask.request, False
        self.heard: list[object] = []

    def write(self, text: str, finish: str = "eos") -> None:
        for token in [*self.reply._model.encode("", text, ""), *([EOS] if finish == "eos" else [])]:
            if self.reply.add(token, "both") is not None:
                break
        self.reply.finish(finish, None)  # type: ignore[arg-type]
        self.closed = True

    def receive(self, message: object) -> None:
        assert not self.closed
        self.heard.append(message)

    def on_peer(self, up: bool, reason: object) -> None:
        assert not self.closed
        self.heard.append((up, reason))

    def due_s(self) -> float:
        return 7.0

    def tick(self, now: float) -> None:
        self.heard.append(now)

    def cancel(self) -> None:
        self.reply.finish("cancelled", None)
        self.closed = True

    def fail(self, error: HocketError) -> None:
        self.reply.fail(error)
        self.closed = True

    def record(self) -> dict[str, Any]:
        return {"question": self.ask.prompt.query, "ended": self.reply.finished}


class World:
    """A session of two parts, the reader, the sessions of the parts and their records."""

    def __init__(self, parts: list[str] = PARTS, max_tokens: int = 50, **asked: object) -> None:
        self.reader, services = Reader(), part("device", []).services
        ask = Ask(
            request=ID,
            topic=ID,
            prompt=Prompt(query=" ".join(parts)),
            sampling=Sampling(max_tokens=max_tokens),
            **asked,
        )  # type: ignore[arg-type]
        self.begun: list[Scripted] = []
        self.records: list[Any] = []
        self.refuses = False
        self.reply = self.reader.reply(ask, services)
        self.session = PartByPart(
            ask, parts, self.reply, begun=self._begin,
            recorded=lambda number, mode, record: self.records.append((number, mode, record())),
        )  # fmt: skip

    def _begin(self, ask: Ask, reply: Reply) -> Session:
        if self.refuses and self.begun:
            raise BadRequest("that cannot be asked", "ask otherwise")
        self.begun.append(Scripted(ask, reply))
        return self.begun[-1]  # type: ignore[return-value]

    def reach(self, when: str) -> None:
        """Go on to a place: in the first part, between the parts, or in the second."""
        if when != "in the first":
            self.begun[0].write("ten")
        if when == "in the second":
            self.go_on()

    def go_on(self) -> None:
        assert self.session.due_s() == 0.0
        self.session.tick(1.0)


def test_one_part_follows_the_other_in_one_stream() -> None:
    """Steps and times go on, a line ends between the parts, and each has a record of its own."""
    world = World()
    world.begun[0].write("ten euros")
    assert (len(world.begun), world.session.closed) == (1, False)
    world.go_on()
    world.begun[1].write("Rosa")
    world.go_on()
    tokens, done = world.reader.tokens, world.reader.done
    assert "".join(token.text for token in tokens) == done.text == "ten euros\nRosa"
    assert [token.step for token in tokens] == list(range(len(done.token_ids)))
    assert [token.id for token in tokens] == done.token_ids
    assert (done.request, done.finish, world.session.closed) == (ID, "eos", True)
    assert [event.seq for event in world.reader.events] == list(range(len(world.reader.events)))
    assert [each.ask.prompt.query for each in world.begun] == PARTS
    assert [record["question"] for _, _, record in world.records] == PARTS
    parts = world.session.record()["parts"]
    assert [each["ID"] for each in parts] == [number.hex() for number, _, _ in world.records]


def test_a_part_that_refers_to_the_one_before_has_it_as_a_turn() -> None:
    """Another one does not: words of other parts would mislead its search."""
    world = World(["Which hotel is booked?", "What does it cost?"])
    world.begun[0].write("the Wolne")
    world.go_on()
    assert world.begun[1].ask.prompt.turns == [Turn("Which hotel is booked?", "the Wolne")]
    world = World()
    world.begun[0].write("ten euros")
    world.go_on()
    assert world.begun[1].ask.prompt.turns == []


def test_parts_share_the_room_and_those_without_any_are_named() -> None:
    """Give a part the tokens that are left, and name parts that get none or find nothing."""
    world = World(max_tokens=12)
    world.begun[0].write("ten")
    world.go_on()
    assert world.begun[1].ask.sampling.max_tokens == 12 - len(world.begun[0].reply.tokens)
    world.begun[1].write("nothing", "unknown")
    world.go_on()
    assert world.reader.notices == ["nothing was found about this part: Who owns the house?"]
    assert world.reader.done.finish == "eos"
    world = World(max_tokens=3)
    world.begun[0].write("ten euros", "length")
    world.go_on()
    (line,) = world.reader.notices
    assert line.startswith("no room was left for this part: Who owns the house?")
    assert (world.reader.done.finish, len(world.begun)) == ("length", 1)


def test_what_both_parts_tell_is_told_once() -> None:
    """Such as that the cloud is away."""
    world = World()
    world.begun[0].reply.notice("the cloud is away")
    world.begun[0].write("ten")
    world.go_on()
    world.begun[1].reply.notice("the cloud is away")
    world.begun[1].write("Rosa")
    world.go_on()
    assert world.reader.notices == ["the cloud is away"]


@pytest.mark.parametrize("when", ["in the first", "between", "in the second"])
def test_who_leaves_ends_all_of_it(when: str) -> None:
    """No other part is begun; what was written stays."""
    world = World()
    world.reach(when)
    world.session.cancel()
    assert (world.session.closed, world.reader.done.finish) == (True, "cancelled")
    assert world.reader.done.text.strip() == ("" if when == "in the first" else "ten")
    assert len(world.begun) == 1 + (when == "in the second")


@pytest.mark.parametrize("when", ["in the first", "between", "in the second", "at the begin of the second"])
def test_an_error_ends_all_of_it(when: str) -> None:
    """Wherever it comes; each part that was begun has its record."""
    world = World()
    world.reach(when)
    if when == "at the begin of the second":
        world.refuses = True
        world.go_on()
    else:
        world.session.fail(Unavailable("the device is stopping", "ask again"))
    assert world.session.closed
    assert world.reader.failed.code == ("bad_request" if when == "at the begin of the second" else "unavailable")
    assert len(world.records) == len(world.begun)


def test_an_answer_that_is_written_cannot_fail() -> None:
    """Ignore an error that comes after the last token."""
    world = World()
    world.begun[0].write("ten")
    world.go_on()
    world.begun[1].write("Rosa")
    world.session.fail(Unavailable("the device is stopping", "ask again"))
    assert world.reader.done.text == "ten\nRosa"


def test_what_comes_between_the_parts_reaches_none() -> None:
    """The part that is over takes no messages, and the next one looks for itself."""
    world = World()
    world.session.receive("first")  # type: ignore[arg-type]
    assert (world.session.due_s(), world.session.id) == (7.0, world.begun[0].id)
    world.begun[0].write("ten")
    world.session.receive("late")  # type: ignore[arg-type]
    world.session.on_peer(False, None)
    world.go_on()
    world.session.on_peer(True, None)
    assert [each.heard for each in world.begun] == [["first"], [(True, None)]]
