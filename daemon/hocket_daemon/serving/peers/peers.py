"""The other side where this daemon has no Link to it: a cloud's route to a device, and a link that is forbidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.messages import Message
from hocket_bus.sockets import Server


@dataclass(frozen=True, slots=True)
class Unlinked:
    """The cloud, for a device whose policy forbids working together; it is never up."""

    reason: HocketError
    user: str = ""
    up: bool = False
    rtt_s: float = 0.0
    first_tokens_s: Sequence[float] = ()
    silence_s: float = 0.0
    aggregates: bool = True
    tokenizer: str = ""

    def send(self, message: Message) -> None:  # noqa: ARG002 - whatever it is
        """Refuse to send. Raises Unavailable."""
        raise Unavailable("there is no link to the cloud")


@dataclass(frozen=True, slots=True)
class RoutePeer:
    """A device as the peer of a cloud."""

    server: Server
    route: bytes
    user: str
    reason: HocketError | None = None
    aggregates: bool = True  # a device that leads an aggregation does
    tokenizer: str = ""  # an opening says it where it matters

    @property
    def up(self) -> bool:
        """Return True: nothing but its silence shows that a device has gone."""
        return True

    @property
    def rtt_s(self) -> float:
        """The round-trip time in seconds, as the device reports it with every ping."""
        return self.server.rtt_s(self.route)

    @property
    def first_tokens_s(self) -> Sequence[float]:
        """Return no times: a device reports none."""
        return ()

    @property
    def silence_s(self) -> float:
        """Seconds since anything came over its link, pings included."""
        return self.server.silence_s(self.route)

    def send(self, message: Message) -> None:
        """Send to where the device's last message came from."""
        self.server.send(self.route, message)
