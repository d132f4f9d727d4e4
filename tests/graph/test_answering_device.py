"""Laws of a device that tells evidence: a cloud that asks much gets an answer to each, and costs little."""

from __future__ import annotations

from typing import Any

from hocket_bus.messages import Evidence, Gather, NoEvidence, Passage, Passages
from hocket_bus.sockets import Received
from hocket_daemon.graph.answering import AT_ONCE, Answering
from hocket_daemon.serving.stream.routing import MAX_NOTICES, Notices


class Lookups:
    """A retrieval daemon that answers when told to."""

    def __init__(self) -> None:
        self.waiting: list[Any] = []

    def lookups(self, user: str) -> Lookups:
        return self

    def search(self, query: str, k: int, scorer: str, done: Any) -> None:
        self.waiting.append(done)

    def answer(self) -> None:
        passage = Passage(document="a.txt", title="", ordinal=0, text="A text.", score=0.9)
        self.waiting.pop(0)(Passages(bytes(16), [passage], "s", ["s"], 1, 0.0))


def test_each_question_is_answered_and_few_are_searched_at_once() -> None:
    """Those beyond are told so at once, and there is room again behind an answer."""
    lookups, told = Lookups(), list[Any]()
    answering = Answering(lookups, told.append, allowed=True, minimum=0.5)  # type: ignore[arg-type]
    gather = Gather(session=bytes(16), question="Who?", k=2, deadline_s=10.0)
    for _ in range(3 * AT_ONCE):
        answering.on_gather(Received(None, b"", gather))  # type: ignore[arg-type] # it looks at the message alone
    assert len(lookups.waiting) == AT_ONCE
    assert [type(each) for each in told] == [NoEvidence] * 2 * AT_ONCE
    lookups.answer()
    answering.on_gather(Received(None, b"", gather))  # type: ignore[arg-type]
    while lookups.waiting:
        lookups.answer()
    assert [type(each) for each in told[2 * AT_ONCE :]] == [Evidence] * (AT_ONCE + 1)


def test_a_cloud_cannot_tell_a_reader_without_end() -> None:
    """Each line once, and not more than so many, however often it says that it is ready."""
    notices_told, told = Notices(), list[str]()
    for number in range(100):
        notices = [f"line {number} {each % 8}" for each in range(16)]
        told += notices_told.new(notices)
    assert len(told) == MAX_NOTICES == len(set(told))
