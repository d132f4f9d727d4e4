"""The text of a side whose model is a server: it gets the passages that are found here in one prompt, and writes.

A server reads when it is to write, so nothing is read ahead, and it tells no part of a passage in a token: each has the
weight that the question gives it. Passages that stand in one prompt are told apart by their titles and headings.
"""

from __future__ import annotations

import numpy as np

from hocket_bus.errors import BadRequest, HocketError
from hocket_bus.messages import Dispatch, Passage, Passages, Side
from hocket_retrieval.text.heads import headed

from ...engine.generators.generator import TextRequest
from ...engine.sampling.heads import Table
from ...serving.search.gatherer import Find, nothing
from ...serving.search.passage_weights import weigh
from ...serving.services import Services
from ...serving.stream.prefix import PrefixChain
from .server_writer import ServerWriter
from .work import Work
from .writers import WritingSession


class ServerReader:
    """The OwnWriter of a side whose model is a server."""

    has_read = False
    rows = 1

    def __init__(
        self,
        services: Services,
        opening: Dispatch,
        chain: PrefixChain,
        session: WritingSession,
        side: Side,
        *,
        find: Find,
    ) -> None:
        """Create it; `chain` holds the answer's tokens and belongs to the session; `side` is the one that writes."""
        assert services.reader is not None
        self.found: Passages | None = None
        self.continues = services.reader.continues
        self.work = Work()
        self._model, self._server, self._opening = services.model, services.reader, opening
        self._services = services
        self._chain, self._session, self._side = chain, session, side
        self._find, self._stop_finding = find, nothing
        self._writer: ServerWriter | None = None  # once the passages are there
        self._part: Table | None = None
        self._writes = False

    @property
    def passages(self) -> list[Passage]:
        """The passages that were found; none before the search has answered."""
        return self.found.passages if self.found is not None else []

    def part(self, step: int) -> Table | None:  # noqa: ARG002 - the same of every token
        """Return each passage's weight, which is the same for every token."""
        return self._part

    # --- what it is told

    def start(self) -> None:
        """Find the passages."""
        self._stop_finding = self._find(self._on_found)

    def read(self) -> None:
        """Do nothing: a server reads nothing ahead."""

    def stand(self) -> None:
        """Report that the side could write, without a wait, or that it cannot go on from a text."""
        if self.continues or not len(self._chain):
            self._session.on_writer_status(self._side)
        else:
            error = BadRequest("a chat API cannot continue a given text", 'set api = "completions" in [server]')
            self._session.on_failed(self._side, error)

    def write(self) -> None:
        """Go on after all tokens so far, as soon as the passages are there."""
        self._writes = True
        if self._writer is not None:
            self._writer.write()

    def pause(self) -> None:
        """Hold: a server cannot pause."""
        self.hold()

    def hold(self) -> None:
        """Stop the server's text."""
        self._writes = False
        if self._writer is not None:
            self._writer.hold()

    def end(self, reason: str) -> None:  # noqa: ARG002 - a cloud daemon is told it
        """Stop the server's text, and search no more."""
        self.hold()
        self._stop_finding()

    # --- what is found

    def _on_found(self, outcome: Passages | HocketError) -> None:
        if isinstance(outcome, HocketError):
            self._session.on_failed(self._side, outcome)
            return
        self.found = outcome
        weights, _ = weigh([passage.score for passage in self.passages], self._opening.relevance_temperature)
        self._part = np.array(weights) if weights else None
        self._writer = self._writer_of([headed(passage) for passage in self.passages])
        self.work = self._writer.work
        self.work.retrieval_s = outcome.seconds
        self._session.on_read(self._side)
        if self._writes:
            self._writer.write()
        self._session.on_found()

    def _writer_of(self, passages: list[str]) -> ServerWriter:
        opening = self._opening
        told = self._services.readable(opening.prompt)
        request = TextRequest(
            told.query,
            opening.sampling,
            opening.task,
            passages=tuple(passages),
            session=opening.session,
            turns=tuple(told.turns),
            system=told.system,
            thinks=opening.task == "answer",
        )
        return ServerWriter(self._server, self._model, request, self._chain, self._session, side=self._side)
