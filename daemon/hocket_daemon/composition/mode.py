"""The mode `composition`, Hybrid-RACA's way: a device completes prose, a cloud writes memory for it.

A text is no question: what a client types comes in by the composition service alone. What passes between the sides is
here.
"""

from __future__ import annotations

from hocket_bus.errors import BadConfiguration, HocketError
from hocket_bus.faults import refused
from hocket_bus.messages import Memory, MemoryRequest, Message, Refused

from ..engine.generators.generator import LocalGenerator
from ..serving.mode import Peer
from ..serving.services import Services
from .follower import Follower, Writer
from .settings import Generator, GeneratorSettings


class CompositionMode:
    """The mode of the cloud's sessions, which write memory."""

    name = "composition"
    opens: tuple[type[Message], ...] = (MemoryRequest,)
    takes: tuple[type[Message], ...] = ()
    answers: tuple[type[Message], ...] = (Memory, Refused)
    ends: tuple[type[Message], ...] = ()

    def __init__(self, services: Services, settings: GeneratorSettings) -> None:
        """Choose the writer of memory. Raises BadConfiguration."""
        self._services = services
        self._rows = 1 if settings.generator == "model" else 0
        self._writer = _writer(services, settings.generator)

    def rows_of(self, _: Message) -> int:
        """Return the rows for a request: an extract needs no model, and a server's text none of this daemon's."""
        return self._rows

    def accept(self, opening: Message, peer: Peer) -> Follower:
        """Look for what a device wants to remember."""
        assert isinstance(opening, MemoryRequest)
        follower = Follower(self._services, opening, peer, self._writer)
        follower.start()
        return follower

    def refusal(self, opening: Message, error: HocketError) -> Message:
        """Return the refusal: this side has no memory to give now."""
        assert isinstance(opening, MemoryRequest)
        return refused(error, opening.session, 0)


def _writer(services: Services, generator: Generator) -> Writer | None:
    if generator == "model" and services.reader is not None:
        raise BadConfiguration('[composition] generator is "model", but the model is a server', 'set it to "server"')
    if generator == "model":
        model = services.model
        return Writer(LocalGenerator(model, services.compute, mass=1.0), model.name)
    if generator == "server":
        server = services.server or services.reader
        if server is None:
            raise BadConfiguration('[composition] generator is "server", but none is configured', "set url in [server]")
        return Writer(server, "server")
    return None
