"""The other side as each role sees it: a device's link to its cloud, a cloud's route to a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.messages import Message
from hocket_bus.sockets import Link, Server


class LinkPeer:
    """The cloud, for a device. Without a link, which a policy may forbid, it is never up."""

    user = ""

    def __init__(self, link: Link | None, reason: HocketError | None) -> None:
        self.reason = reason
        self._link = link

    @property
    def up(self) -> bool:
        """Whether the link is."""
        return self._link is not None and self._link.up

    @property
    def rtt_s(self) -> float:
        """By the echo on the link."""
        return 0.0 if self._link is None else self._link.rtt_s

    @property
    def first_tokens_s(self) -> Sequence[float]:
        """As its latest pong says."""
        return () if self._link is None else self._link.first_tokens_s

    @property
    def silence_s(self) -> float:
        """A link that is silent goes down by itself."""
        return 0.0

    def send(self, message: Message) -> None:
        """Over the link."""
        if self._link is None:
            raise Unavailable("there is no link to the cloud")
        self._link.send(message)


@dataclass(frozen=True, slots=True)
class RoutePeer:
    """A device, for a cloud."""

    server: Server
    route: bytes
    user: str
    reason: HocketError | None = None

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
