"""The cloud's part: takeaways of its documents for a query."""

from __future__ import annotations

import time
from math import inf

from hocket_bus.errors import HocketError
from hocket_bus.faults import refused
from hocket_bus.messages import Extracted, Memory, MemoryRequest, Message

from ..serving.mode import Facts, Peer
from ..serving.services import Services
from .remembering import EXTRACTIVE, takeaways_of


class Follower:
    """One request of a device's; it ends with its answer."""

    has_read = True
    steps = 0
    leads = True  # the device waits

    def __init__(self, services: Services, asked: MemoryRequest, peer: Peer) -> None:
        self.id = asked.session
        self.closed = False
        self._asked = asked
        self._peer = peer
        self._asker = services.retrieval.asker(peer.user)
        self._began_s = time.monotonic()
        self._takeaways = 0

    def start(self) -> None:
        """Look for sentences."""
        asked = self._asked
        self._asker.extract(asked.query, asked.k, asked.takeaways, self._on_extract)

    def receive(self, message: Message) -> None:
        """A device says nothing more of it."""

    def reopen(self, _: Message, peer: Peer) -> None:
        """It asks again: the answer goes where it asks from."""
        self._peer = peer

    def end(self, _: Message) -> None:
        """The device wants no answer any more."""
        self.close()

    def on_peer(self, up: bool, reason: HocketError | None) -> None:
        """A cloud is told nothing of a device's link."""

    def due_s(self) -> float:
        """Retrieval keeps its own deadline."""
        return inf

    def tick(self, now: float) -> None:
        """Nothing is due."""

    def cancel(self) -> None:
        """As close."""
        self.close()

    def close(self) -> None:
        """Nobody waits any more."""
        self.closed = True
        self._asker.close()

    def fail(self, error: HocketError) -> None:
        """Tell the device why there is no memory."""
        if not self.closed:
            self._peer.send(refused(error, self.id, 0))
            self.close()

    def record(self) -> Facts:
        """How much was found; nothing of the query."""
        return {"takeaways": self._takeaways, "seconds": round(time.monotonic() - self._began_s, 3)}

    def _on_extract(self, outcome: Extracted | HocketError) -> None:
        if isinstance(outcome, HocketError):
            self.fail(outcome)
            return
        takeaways = takeaways_of(outcome)
        self._takeaways = len(takeaways)
        seconds = time.monotonic() - self._began_s
        self._peer.send(Memory(session=self.id, takeaways=takeaways, generator=EXTRACTIVE, seconds=seconds))
        self.close()
