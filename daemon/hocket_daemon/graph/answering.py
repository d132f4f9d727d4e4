"""Evidence for other devices: the passages nearest their question, where the owner of this device allows it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import PurePath

import msgspec

from hocket_bus.errors import Forbidden, HocketError
from hocket_bus.faults import notice_text
from hocket_bus.messages import Evidence, Gather, Message, NoEvidence, Passage, Passages
from hocket_bus.sockets import Received

from ..serving.search.retrieval import RetrievalClient

ASKER = "the cloud"  # in whose turn its questions are searched
AT_ONCE = 16  # of its questions that are searched; it is told no evidence for more


class Answering:
    """The answers to Gather: one for each, or none after its deadline."""

    def __init__(
        self, retrieval: RetrievalClient, send: Callable[[Message], None], *, allowed: bool, minimum: float
    ) -> None:
        """Set the `minimum`: passages that score less are not sent, as they are about something else."""
        self._retrieval, self._send = retrieval, send
        self._allowed, self._minimum = allowed, minimum
        self._under_way = 0
        self.passages_total = 0

    def on_gather(self, event: Received) -> None:
        """Search for the question of a Gather, and answer."""
        gather = event.message
        assert isinstance(gather, Gather)
        if not self._allowed:
            self._deliver(NoEvidence(session=gather.session, why="its owner does not share passages"))
            return
        if self._under_way >= AT_ONCE:
            self._deliver(NoEvidence(session=gather.session, why="it has too many questions at once"))
            return
        self._under_way += 1
        until_s = time.monotonic() + gather.deadline_s

        def found(outcome: Passages | HocketError) -> None:
            self._under_way -= 1
            if time.monotonic() < until_s:
                self._deliver(self._answer(gather, outcome))

        self._retrieval.lookups(ASKER).search(gather.question, gather.k, "", found)

    def _answer(self, gather: Gather, outcome: Passages | HocketError) -> Message:
        if isinstance(outcome, HocketError):
            return NoEvidence(session=gather.session, why=notice_text(outcome.text))
        near = [_as_it_leaves(passage) for passage in outcome.passages if passage.score >= self._minimum]
        if not near:
            why = "none of its passages matches the question" if outcome.documents_total else "it has no documents"
            return NoEvidence(session=gather.session, why=why)
        self.passages_total += len(near)
        return Evidence(session=gather.session, passages=near)

    def _deliver(self, message: Message) -> None:
        try:
            self._send(message)
        except Forbidden:  # `control` may not leave either: the cloud waits in vain
            return


def _as_it_leaves(passage: Passage) -> Passage:
    """Return a passage by the name of its file alone, which keeps its folder on this machine private."""
    return msgspec.structs.replace(passage, document=PurePath(passage.document).name)
