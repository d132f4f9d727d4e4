"""A server of text as a side: asked anew for every stint, and its text numbered as this side's model does.

It knows tokens by their text alone. What is cancelled is paid for by its whole prompt, as an estimate.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np

from hocket_bus.errors import HocketError
from hocket_bus.messages import Finish, Message, Side, WriterStatus

from ...engine.generators.generator import Generating, TextGenerator, TextRequest
from ...engine.language_model import LanguageModel
from ...engine.sampling.ranking import UNRANKED
from ...serving.records.sources import PeerSources
from ...serving.stream.prefix import PrefixChain
from .work import Work
from .writers import WritingSession

_BLANKS = " \t\u00a0"


class ServerWriter:
    """A writer that goes on after the text of the tokens; only the latest stint is heard."""

    is_linked = stands = has_read = False
    obstacle: HocketError | None = None
    rtt_s = 0.0

    def __init__(
        self,
        server: TextGenerator,
        model: LanguageModel,
        request: TextRequest,
        chain: PrefixChain,
        session: WritingSession,
        *,
        side: Side = "cloud",
    ) -> None:
        """Create it; `request` is for the whole answer. `chain` holds its tokens for the session; `side` writes."""
        self.opened = False
        self.peer_sources: PeerSources | None = PeerSources([], np.zeros((0, 0)))  # it has no documents
        self.writer_status: WriterStatus | None = None
        self.continues = server.continues
        self.work = Work()
        self.has_reported_all = True
        self._server = server
        self._model = model
        self._request = request
        self._chain = chain
        self._session = session
        self._side: Side = side
        self._generation = 0
        self._blanks = ""  # at the end of what it has written so far
        self._text: Generating | None = None
        self._asked = 0  # tokens of this stint's prompt, as this side's model counts them

    def stand(self) -> None:
        """Do nothing: a server cannot stand by."""

    def write(self) -> None:
        """Ask the server to go on; text of an earlier stint is ignored."""
        self.hold()
        whole, tokens = self._request, len(self._chain)
        left = msgspec.structs.replace(whole.sampling, max_tokens=whole.sampling.max_tokens - tokens)
        request = replace(whole, sampling=left, prefix=self._model.text(self._chain.ids))
        self.opened, generation = True, self._generation
        earlier = [text for turn in whole.turns for text in (turn.query, turn.answer)]
        prompt = "\n\n".join(filter(None, [whole.system, *whole.passages, *earlier, whole.prompt]))
        self._asked = len(self._model.prompt(prompt, whole.task)) + tokens
        self.work.prompt = self.work.prefilled = self.work.prefilled + self._asked
        self._text = self._server.generate(
            request,
            lambda piece: self._on_text(generation, piece),
            lambda end: self._on_end(generation, end),
            lambda thought: self._on_thought(generation, thought),
        )

    def pause(self) -> None:
        """Hold: a server cannot pause."""
        self.hold()

    def hold(self) -> None:
        """Close the connection, which stops the server."""
        self._generation += 1
        self._blanks = ""
        if self._text is not None:
            self.has_reported_all = False
            self._text.cancel()
            self._text = None

    def end(self, reason: str) -> None:  # noqa: ARG002 - a cloud daemon is told it
        """Close the connection, as `hold` does."""
        self.hold()

    def receive(self, message: Message) -> None:
        """Do nothing: a server has no link."""

    def _on_thought(self, generation: int, thought: str) -> None:
        if generation == self._generation:
            self._session.on_thought(self._side, thought)

    def _on_text(self, generation: int, piece: str) -> None:
        """Pass a text on, but keep blanks at its end for the next piece: models write a blank and a word as one token.

        Whoever goes on after this writer then writes the blank.
        """
        if generation != self._generation:
            return
        text = self._blanks + piece
        written = text.rstrip(_BLANKS)
        self._blanks = text[len(written) :]
        self._tell(generation, written)

    def _tell(self, generation: int, text: str) -> None:
        for token in self._model.continued(text):
            if generation != self._generation:
                return
            self.work.decoded += 1
            self._session.on_token(self._side, len(self._chain), token, UNRANKED)

    def _on_end(self, generation: int, end: Finish | HocketError) -> None:
        if generation != self._generation:
            return
        text, self._text = self._text, None
        self._count(text)
        if isinstance(end, HocketError):
            self._session.on_failed(self._side, end)
        else:
            self._tell(generation, self._blanks)
            self._session.on_finished(self._side, end)

    def _count(self, text: Generating | None) -> None:
        """Count the tokens that the server says it has read, where it says so."""
        usage = text.usage if text is not None else None
        if usage is None:
            self.has_reported_all = False
        else:
            self.work.prompt = self.work.prefilled = self.work.prefilled + usage.prompt_tokens - self._asked
