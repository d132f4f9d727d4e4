"""Takeaways that a model writes: what is believed, and what comes where nothing can be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.messages import Extracted, Finish, Memory, MemoryRequest, Message, Passage, Passages, Refused, Sentence
from hocket_daemon.composition.follower import WRITE_S, Follower, Writer
from hocket_daemon.composition.memory_generator import believed, question
from hocket_daemon.composition.remembering import EXTRACTIVE, REPLY_S
from hocket_daemon.engine.generators.generator import TextRequest
from hocket_daemon.monitoring.counters import Counters

PASSAGES = [
    Passage(document="mill", title="", ordinal=0, text="The mill at Tarnow was built in 1874.\nIt burnt.", score=0.9),
    Passage(document="ferry", title="", ordinal=0, text="A ferry to Brightholm costs 14 crowns.", score=0.5),
]
WRITTEN = """- The mill at Tarnow was built in 1874.
- The mill at Tarnow was built in 1875.
- Too short.
- The mill at Krakow was built in 1874.
- A takeaway without its end
### P2:
- The ferry to Brightholm costs 14 crowns.
- The mill at Tarnow was built in 1874.
### P7:
- Nobody asked for this paragraph here.
"""


def test_only_sentences_with_their_own_passages_details_are_believed() -> None:
    found = [(each.document, each.text) for each in believed(WRITTEN, PASSAGES, 9)]
    assert found == [
        ("mill", "The mill at Tarnow was built in 1874."),
        ("ferry", "The ferry to Brightholm costs 14 crowns."),
    ]
    assert believed(WRITTEN, PASSAGES, 1) == believed(WRITTEN, PASSAGES, 9)[:1]


@pytest.mark.parametrize("written", ["", "I cannot do that.", "### P1:", "### P99999999999:\n- x", "-", "\ufffd" * 500])
def test_a_text_that_says_nothing_gives_nothing(written: str) -> None:
    assert believed(written, PASSAGES, 9) == []


def test_all_passages_are_asked_for_in_one_call() -> None:
    asked = question(PASSAGES)
    assert "P1: The mill at Tarnow was built in 1874. It burnt.\nP2: A ferry" in asked
    assert asked.endswith("### P1:\n")


@dataclass
class Scripted:
    """A TextGenerator that writes what it is told to, and retrieval that has PASSAGES; all at once."""

    writes: str | HocketError
    finds: list[Passage] = field(default_factory=lambda: PASSAGES)
    ends: bool = True  # by itself
    usage = None
    continues = False

    def generate(
        self, _: TextRequest, on_text: Callable[[str], None], on_end: Callable[[Finish | HocketError], None]
    ) -> Scripted:
        if isinstance(self.writes, str):
            on_text(self.writes)
        if self.ends:
            on_end("eos" if isinstance(self.writes, str) else self.writes)
        self._on_end = on_end
        return self

    def cancel(self) -> None:
        self._on_end("cancelled")

    def lookups(self, _: str) -> Scripted:
        return self

    def search(self, query: str, k: int, scorer: str, done: Callable[[Passages], None]) -> None:
        del query, scorer
        found = self.finds[:k]
        done(Passages(request=bytes(16), passages=found, scorer="", scorers=[], documents_total=2, seconds=0.0))

    def extract(self, query: str, k: int, sentences: int, done: Callable[[Extracted], None]) -> None:
        del query, k
        found = [Sentence(document=each.document, text=each.text[:30], score=0.5) for each in self.finds]
        done(Extracted(request=bytes(16), sentences=found[:sentences], seconds=0.0))

    def close(self) -> None:
        pass


@dataclass
class Device:
    """The other side."""

    user: str = ""
    sent: list[Message] = field(default_factory=list)

    def send(self, message: Message) -> None:
        self.sent.append(message)


def answer(scripted: Scripted, *, by_model: bool = True) -> Message:
    services = type("Services", (), {"retrieval": scripted, "counters": Counters()})()
    device = Device()
    writer = Writer(scripted, "scripted") if by_model else None  # type: ignore[arg-type]
    asked = MemoryRequest(session=bytes(16), query="the mill", k=3, takeaways=4)
    follower = Follower(services, asked, device, writer)  # type: ignore[arg-type]
    follower.start()
    assert follower.closed is scripted.ends
    follower.tick(follower.due_s())
    assert follower.closed
    (sent,) = device.sent
    return sent


def test_the_reply_says_what_wrote_it() -> None:
    memory = answer(Scripted(WRITTEN))
    assert isinstance(memory, Memory)
    assert (memory.generator, [each.document for each in memory.takeaways]) == ("scripted", ["mill", "ferry"])


@pytest.mark.parametrize("writes", ["nonsense", Unavailable("the server has gone")])
def test_an_extract_comes_where_the_model_is_not_to_be_believed(writes: str | HocketError) -> None:
    memory = answer(Scripted(writes))
    assert isinstance(memory, Memory)
    assert (memory.generator, len(memory.takeaways)) == (EXTRACTIVE, 2)
    assert memory.takeaways == answer(Scripted(""), by_model=False).takeaways  # type: ignore[attr-defined]


@pytest.mark.parametrize(("writes", "generator"), [(WRITTEN, "scripted"), ("- The mill at", EXTRACTIVE)])
def test_of_a_text_that_takes_too_long_counts_what_is_written(writes: str, generator: str) -> None:
    """Before a device gives up."""
    memory = answer(Scripted(writes, ends=False))
    assert isinstance(memory, Memory)
    assert (memory.generator, len(memory.takeaways)) == (generator, 2)
    assert WRITE_S < REPLY_S


def test_no_documents_are_an_empty_memory() -> None:
    memory = answer(Scripted(WRITTEN, finds=[]))
    assert isinstance(memory, Memory)
    assert memory.takeaways == []


def test_a_failed_search_is_refused() -> None:
    scripted = Scripted(WRITTEN)
    scripted.search = lambda query, k, scorer, done: done(Unavailable("no retrieval"))  # type: ignore[method-assign, arg-type, misc, assignment]
    refused = answer(scripted)
    assert isinstance(refused, Refused)
    assert refused.text == "no retrieval"
