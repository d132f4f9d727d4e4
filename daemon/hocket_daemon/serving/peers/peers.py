"""The other side where it is no Link of this daemon's: a cloud's route to a device, and a link that is forbidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.messages import Message
from hocket_bus.sockets import Server


@dataclass(frozen=True, slots=True)
class Unlinked:
    """The cloud, for a device whose policy keeps it from what is to be done together: it is never up."""

    reason: HocketError
    user: str = ""
    up: bool = False
    rtt_s: float = 0.0
    first_tokens_s: Sequence[float] = ()
    silence_s: float = 0.0
    aggregates: bool = True

    def send(self, message: Message) -> None:  # noqa: ARG002 - whatever it is
        """Raises Unavailable."""
        raise Unavailable("there is no link to the cloud")


@dataclass(frozen=True, slots=True)
class RoutePeer:
    """A device, for a cloud."""

    server: Server
    route: bytes
    user: str
    reason: HocketError | None = None
    aggregates: bool = True  # a device that leads an aggregation does

    @property
    def up(self) -> bool:
        """Nothing tells that it is not, but its silence."""
        return True

    @property
    def rtt_s(self) -> float:
        """As the device tells it with every ping."""
        return self.server.rtt_s(self.route)

    @property
    def first_tokens_s(self) -> Sequence[float]:
        """A device tells nobody."""
        return ()

    @property
    def silence_s(self) -> float:
        """Of its link, pings too."""
        return self.server.silence_s(self.route)

    def send(self, message: Message) -> None:
        """To where the device spoke from last."""
        self.server.send(self.route, message)
