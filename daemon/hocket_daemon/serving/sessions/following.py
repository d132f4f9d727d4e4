"""A session that another side leads: what a follower of any mode does alike, until that side ends it or is silent."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import inf

import structlog

from hocket_bus.errors import HocketError
from hocket_bus.faults import refused
from hocket_bus.messages import Message

from ..mode import Facts, Peer
from ..search.gatherer import Find, Gathered, gathering
from ..services import Services

log = structlog.get_logger(__name__)


class Following(ABC):
    """A follower's session. Its side refuses to go on with `fail`; the asked side then goes on without it."""

    within: Sequence[str] = ()  # the folders in which alone this side searches: all

    def __init__(self, services: Services, session: bytes, peer: Peer) -> None:
        """Begin the session of this number for `peer`, the side that leads it."""
        self.id = session
        self.closed = False
        self.steps = 0  # tokens that have come of the session
        self._services = services
        self._peer = peer
        self._began_s = time.monotonic()
        self._ended = "ended by the device, or its silence"
        self._gathered: Gathered | None = None

    @property
    def user(self) -> str:
        """The key of the side that leads."""
        return self._peer.user

    @property
    def has_read(self) -> bool:
        """Tell whether this side has read its prompt."""
        return True

    @property
    def leads(self) -> bool:
        """Tell whether this side works, so that the other one need not send anything."""
        return False

    @property
    def age_s(self) -> float:
        """Seconds since the session began."""
        return time.monotonic() - self._began_s

    def on_found(self) -> None:  # noqa: B027 - modes need not do anything
        """Do nothing: the other side is told when this one has read."""

    def on_peer(self, up: bool, reason: HocketError | None) -> None:  # noqa: B027
        """Do nothing: a side that is back opens the session again."""

    def due_s(self) -> float:
        """Return the time at which `tick` is next needed: never, unless a mode waits for something."""
        return inf

    def tick(self, now: float) -> None:  # noqa: B027
        """Do nothing: see `due_s`."""

    def cancel(self) -> None:
        """Close the session, as `close` does: nobody but the other side asks here."""
        self.close()

    def fail(self, error: HocketError) -> None:
        """Refuse to go on, and say why."""
        if self.closed:
            return
        self._services.counters.add("errors_total", kind=error.code)
        log.warning("cannot take part", session=self.id.hex(), error=str(error))
        self._peer.send(refused(error, self.id, self._epoch))
        self._ended = error.code
        self.close()

    def close(self) -> None:
        """Free what it holds."""
        self.closed = True
        self._free()

    def _find(self, question: str, documents: int, *, scorer: str, escalates: bool) -> Find | None:
        """Return a search that asks other devices, too: they let this machine read, and no server elsewhere."""
        gatherer = self._services.gatherer
        if not escalates or gatherer is None or not self._services.reads_here:
            return None
        return gathering(gatherer, self._peer, question, documents, scorer=scorer, take=self._take_gathered)

    def _take_gathered(self, gathered: Gathered) -> None:
        self._gathered = gathered

    # --- what a mode brings

    @property
    @abstractmethod
    def _epoch(self) -> int:
        """The epoch in which the other side is answered."""

    @abstractmethod
    def start(self) -> None:
        """Search and read."""

    @abstractmethod
    def receive(self, message: Message) -> None:
        """Take a message of the other side. Raises BadMessage for one that cannot be read."""

    @abstractmethod
    def reopen(self, opening: Message, peer: Peer) -> None:
        """Handle the opening again: it came after a break, or by another route."""

    @abstractmethod
    def end(self, message: Message) -> None:
        """End the session as the other side has asked; a last answer may still be sent."""

    @abstractmethod
    def _free(self) -> None:
        """Free what the mode holds."""

    @abstractmethod
    def record(self) -> Facts:
        """Return the record for `hocket explain`, without the question or a passage's text."""
