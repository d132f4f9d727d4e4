"""Memory for one text: asked of the cloud and of the device's own documents, one request to each at a time."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from math import inf

from hocket_bus.errors import HocketError
from hocket_bus.messages import MAX_QUERY_CHARS, Extracted, Memory, MemoryRequest, Side, Takeaway

from ..serving.mode import Peer
from ..serving.search.retrieval import Lookups
from .coordinator import Coordinator
from .memory import Takeaways
from .redaction import Redaction
from .settings import PATIENCE_S, CompositionSettings

_UNFINISHED = re.compile(r"(?<!\S)\S+\Z")
REPLY_S = 20.0  # after which a request counts as lost
EXTRACTIVE = "extractive"


class Remembering:
    """The requests of one text, made as its context changes; news goes to `on_memory(side, takeaways, generator)`."""

    def __init__(
        self,
        settings: CompositionSettings,
        *,
        memory: Takeaways,
        redact: Redaction,
        lookups: Lookups,
        peer: Peer | None,
        on_memory: Callable[[Side, list[Takeaway], str], None],
        on_ended: Callable[[], None],
    ) -> None:
        """Begin without requests; `on_ended` is called when one has ended, with or without memory."""
        self.session = b""  # the request to the cloud that is under way
        self.requests = 0  # that were sent to the cloud
        self.replies = 0  # that came
        self._settings = settings
        self._memory = memory
        self._redact = redact
        self._lookups = lookups
        self._peer = peer
        self._on_memory = on_memory
        self._on_ended = on_ended
        self._asked_s: dict[Side, float] = {}  # when each request that is under way was sent
        self._cloud = Coordinator(settings.distance)
        self._own = Coordinator(settings.distance)
        self._lost_s = inf

    def look(self, ids: Sequence[int], text: str, *, paused: bool) -> None:
        """Ask for memory where the context has changed enough; less is enough where its writer has `paused`."""
        self._ask_own(ids, text, paused=paused)
        self._ask_cloud(ids, text, paused=paused)

    @property
    def expected_s(self) -> float:
        """The time until which requested memory is waited for; 0 where none was requested.

        Later memory is not expected.
        """
        return max(self._asked_s.values(), default=-PATIENCE_S) + PATIENCE_S

    def receive(self, reply: Memory) -> None:
        """Take what the cloud has written for the request that is under way."""
        self._end()
        self.replies += 1
        self._cloud.replied(self._take("cloud", reply.takeaways, reply.generator))
        self._on_ended()

    def refused(self) -> None:
        """End the request to the cloud without memory: the cloud has refused it, or has gone."""
        if self.session:
            self._end()
            self._cloud.failed()
            self._on_ended()

    @property
    def due_s(self) -> float:
        """The time at which `tick` is next needed."""
        return self._lost_s

    def tick(self, now: float) -> None:
        """Give up a request that is not answered in time."""
        if now >= self._lost_s:
            self.refused()

    def close(self) -> None:
        """Stop: nobody waits any more."""
        self._lookups.close()

    def _ask_cloud(self, ids: Sequence[int], text: str, *, paused: bool) -> None:
        if self._peer is None or not self._peer.up:
            return
        query = self._cloud.ask(ids, self._redact(finished(text)), paused=paused)[-MAX_QUERY_CHARS:]
        if not query:
            return
        request = MemoryRequest(
            session=os.urandom(16), query=query, k=self._settings.passages, takeaways=self._settings.takeaways
        )
        self._asked_s["cloud"] = time.monotonic()
        self.session, self._lost_s = request.session, time.monotonic() + REPLY_S
        self.requests += 1
        try:
            self._peer.send(request)
        except HocketError:
            self.refused()

    def _ask_own(self, ids: Sequence[int], text: str, *, paused: bool) -> None:
        query = self._own.ask(ids, text, paused=paused) if self._settings.own_documents else ""
        if query:
            self._asked_s["device"] = time.monotonic()
            self._lookups.extract(query, self._settings.passages, self._settings.takeaways, self._on_extract)

    def _on_extract(self, outcome: Extracted | HocketError) -> None:
        self._asked_s.pop("device", None)
        if isinstance(outcome, HocketError):
            self._own.failed()
        else:
            self._own.replied(self._take("device", takeaways_of(outcome), EXTRACTIVE))
        self._on_ended()

    def _take(self, side: Side, takeaways: Sequence[Takeaway], generator: str) -> int:
        new = self._memory.add(side, takeaways, time.monotonic())
        if new:
            self._on_memory(side, new, generator)
        return len(new)

    def _end(self) -> None:
        self.session, self._lost_s = b"", inf
        self._asked_s.pop("cloud", None)


def finished(text: str) -> str:
    """Return a text without the word being typed: what it will be, such as a mail address, is not known yet."""
    return _UNFINISHED.sub("", text)


def takeaways_of(extracted: Extracted) -> list[Takeaway]:
    """Return the sentences of an extract as takeaways, the nearest first."""
    return [Takeaway(text=each.text, document=each.document) for each in extracted.sentences]
