"""The cloud's part of composition: takeaways of its documents for a query, from a model, or the nearest sentences."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from hocket_bus.errors import HocketError
from hocket_bus.messages import Extracted, Finish, Memory, MemoryRequest, Message, Passage, Passages, Sampling, Takeaway

from ..engine.generators.generator import Generating, TextGenerator, TextRequest
from ..serving.mode import Facts, Peer
from ..serving.services import Services
from ..serving.sessions.following import Following
from .memory_generator import TOKENS, believed, question
from .remembering import EXTRACTIVE, takeaways_of

WRITE_S = 12.0  # for all of a request; a device takes one for lost soon after


@dataclass(frozen=True, slots=True)
class Writer:
    """A model that writes takeaways, and its name."""

    generator: TextGenerator
    name: str


class Follower(Following):
    """The work on one request of a device; it ends with its answer."""

    def __init__(self, services: Services, asked: MemoryRequest, peer: Peer, writer: Writer | None) -> None:
        """Prepare the answer; without a `writer` takeaways are extracts."""
        super().__init__(services, asked.session, peer)
        self._asked = asked
        self._writer = writer
        self._lookups = services.retrieval.lookups(peer.user)
        self._generating: Generating | None = None
        self._due_s = inf
        self._memory: Memory | None = None

    @property
    def leads(self) -> bool:
        """Return True: the device waits."""
        return True

    @property
    def _epoch(self) -> int:
        return 0  # a request has one

    def start(self) -> None:
        """Look for passages, or for sentences."""
        if self._writer is None:
            self._extract()
        else:
            self._lookups.search(self._asked.query, self._asked.k, "", self._on_passages)

    def receive(self, message: Message) -> None:
        """Ignore the message: a device says nothing more of its request."""

    def reopen(self, _: Message, peer: Peer) -> None:
        """Handle the request again: the answer goes to where it was asked from last."""
        self._peer = peer

    def end(self, _: Message) -> None:
        """Close: the device wants no answer any more."""
        self.close()

    def due_s(self) -> float:
        """Return the time at which `tick` is next needed; retrieval keeps its own deadline."""
        return self._due_s

    def tick(self, now: float) -> None:
        """End a text that takes too long: what is written by then is used."""
        if now >= self._due_s and self._generating is not None:
            self._due_s = inf
            self._generating.cancel()

    def _free(self) -> None:
        self._lookups.close()
        if self._generating is not None:
            self._generating.cancel()

    def record(self) -> Facts:
        """Return how much was found, and who wrote it; nothing of the query."""
        found = {"takeaways": len(self._memory.takeaways), "generator": self._memory.generator} if self._memory else {}
        return {**found, "seconds": round(self.age_s, 3)}

    def _extract(self) -> None:
        self._lookups.extract(self._asked.query, self._asked.k, self._asked.takeaways, self._on_extract)

    def _on_extract(self, outcome: Extracted | HocketError) -> None:
        if isinstance(outcome, HocketError):
            self.fail(outcome)
        else:
            self._send(takeaways_of(outcome), EXTRACTIVE)

    def _on_passages(self, outcome: Passages | HocketError) -> None:
        if isinstance(outcome, HocketError):
            self.fail(outcome)
        elif not outcome.passages:
            self._send([], EXTRACTIVE)
        else:
            self._write(outcome.passages)

    def _write(self, passages: list[Passage]) -> None:
        """Have takeaways written; a text that cannot be believed, or is late, gives way to an extract."""
        assert self._writer is not None
        name, token_texts = self._writer.name, list[str]()
        sampling = Sampling(temperature=0.0, max_tokens=TOKENS * len(passages))

        def ended(_: Finish | HocketError) -> None:
            if self.closed:
                return
            takeaways = believed("".join(token_texts), passages, self._asked.takeaways)
            if takeaways:
                self._send(takeaways, name)
            else:
                self._extract()

        request = TextRequest(question(passages), sampling, session=self.id)
        self._due_s = self._began_s + WRITE_S
        self._generating = self._writer.generator.generate(request, token_texts.append, ended)

    def _send(self, takeaways: list[Takeaway], generator: str) -> None:
        self._memory = Memory(session=self.id, takeaways=takeaways, generator=generator, seconds=self.age_s)
        self._peer.send(self._memory)
        self.close()
