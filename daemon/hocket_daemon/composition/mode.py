"""Composition, Hybrid-RACA's way: a device completes prose, a cloud writes memory for it.

A text is no question: what a client types comes in by the desk, and what passes between the sides is here.
"""

from __future__ import annotations

from hocket_bus.errors import BadRequest, HocketError
from hocket_bus.faults import refused
from hocket_bus.messages import Ask, Memory, MemoryRequest, Message, Refused

from ..serving.mode import Peer, Session
from ..serving.reply import Reply
from ..serving.services import Services
from .follower import Follower


class CompositionMode:
    """Opens the cloud's sessions."""

    name = "composition"
    opens: tuple[type[Message], ...] = (MemoryRequest,)
    takes: tuple[type[Message], ...] = ()
    answers: tuple[type[Message], ...] = (Memory, Refused)
    ends: tuple[type[Message], ...] = ()

    def __init__(self, services: Services) -> None:
        self._services = services

    def facts(self) -> dict[str, str]:
        """None."""
        return {}

    def metrics(self) -> dict[str, float]:
        """None."""
        return {}

    def check(self, _: Ask) -> None:
        """Raises BadRequest: there is nothing to ask."""
        raise BadRequest("a text is composed, not asked for", "use: hocket compose")

    def rows(self, _: Ask) -> int:
        """None are needed."""
        return 0

    def begin(self, ask: Ask, _: Reply, __: Peer | None) -> Session:
        """Never called: nothing passes `check`."""
        raise AssertionError(ask.mode)

    def rows_of(self, _: Message) -> int:
        """An extract needs no model."""
        return 0

    def accept(self, opening: Message, peer: Peer) -> Follower:
        """Look for what a device wants to remember."""
        assert isinstance(opening, MemoryRequest)
        follower = Follower(self._services, opening, peer)
        follower.start()
        return follower

    def refusal(self, opening: Message, error: HocketError) -> Message:
        """This side has no memory to give now."""
        assert isinstance(opening, MemoryRequest)
        return refused(error, opening.session, 0)
