"""Which cloud daemon each session of a device is with, and where it moves.

A device has links to two daemons of its owner's list, or to one. A session begins with the less loaded of them, and
moves to the other one when its own is busy, falls silent or drains. To a session that is a peer which has gone and is
up again: it goes on there at its exact prefix, as with a cloud that was started anew. Knows no mode and no file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hocket_bus.errors import HocketError
from hocket_bus.faults import raised
from hocket_bus.messages import Message, Refused
from hocket_bus.sockets import Link, Received

OnPeer = Callable[[bool, HocketError | None], None]
MIN_REST_S = 1.0  # how long a daemon that refused a session is not asked again; by then its echo tells why


@dataclass(slots=True, eq=False)
class CloudLink:
    """A link to the cloud daemon with that key, which takes `capacity` sessions."""

    link: Link
    key: str
    capacity: int = 1
    free_at_s: float = 0.0  # when it may be asked again, where it was busy

    def takes(self, now: float) -> bool:
        """Whether a session may begin there."""
        return self.link.up and not self.link.draining and now >= self.free_at_s

    @property
    def load(self) -> float:
        """Of its places, the share that is taken, as it says itself."""
        return self.link.load / self.capacity


class Cluster:
    """A device's links to its cloud, the one that it prefers first."""

    def __init__(self) -> None:
        self.links: Sequence[CloudLink] = ()

    def of(self, link: object) -> CloudLink | None:
        """What is known of a link; None for one that has been given up."""
        return next((each for each in self.links if each.link is link), None)

    def least_loaded(self, besides: CloudLink | None = None) -> CloudLink | None:
        """Of those that take sessions."""
        now = time.monotonic()
        taking = [each for each in self.links if each is not besides and each.takes(now)]
        return min(taking, key=lambda each: each.load, default=None)

    def reachable(self, besides: CloudLink | None = None) -> CloudLink | None:
        """The same; while none takes any, one that is up and will say when it does."""
        up = (each for each in self.links if each is not besides and each.link.up)
        return self.least_loaded(besides) or next(up, None)

    def peer(self) -> ClusterPeer:
        """The cloud for a session that begins. Needs a link."""
        return ClusterPeer(self, self.reachable() or self.links[0])


class ClusterPeer:
    """The cloud, for one session: the daemon that it is with, from one moment to the next another one."""

    user = ""

    def __init__(self, cluster: Cluster, place: CloudLink) -> None:
        self._cluster = cluster
        self._place = place

    @property
    def link(self) -> Link:
        """To the daemon that the session is with."""
        return self._place.link

    @property
    def up(self) -> bool:
        """Whether messages reach it now."""
        return self.link.up

    @property
    def reason(self) -> HocketError | None:
        """Why they do not."""
        return self.link.reason

    @property
    def aggregates(self) -> bool:
        """As that daemon tells it."""
        return self.link.aggregates

    @property
    def rtt_s(self) -> float:
        """Of the link."""
        return self.link.rtt_s

    @property
    def first_tokens_s(self) -> Sequence[float]:
        """As that daemon tells them."""
        return self.link.first_tokens_s

    @property
    def silence_s(self) -> float:
        """Of the link."""
        return self.link.silence_s

    def send(self, message: Message) -> None:
        """To that daemon. Raises Forbidden where it must not leave."""
        self.link.send(message)

    def on_up(self, link: Link, on_peer: OnPeer) -> None:
        """A link of this device's is up: it is the session's own, or better than that."""
        place = self._cluster.of(link)
        if link is self.link:
            on_peer(True, None)
        elif place is not None and not self.up:
            self._place = place
            on_peer(True, None)

    def move(self, reason: HocketError, on_peer: OnPeer) -> bool:
        """Be with another daemon, for this reason, if one takes the session; whether that is so."""
        return self._go(self._cluster.least_loaded(besides=self._place), reason, on_peer)

    def on_down(self, link: Link, reason: HocketError, on_peer: OnPeer) -> None:
        """A link of this device's is down."""
        if link is self.link and not self._go(self._cluster.reachable(besides=self._place), reason, on_peer):
            on_peer(False, reason)

    def is_elsewhere(self, event: Received, on_peer: OnPeer) -> bool:
        """Whether a session is with another daemon than says this of it, or is so now, as that one is full."""
        if event.port is not self.link:
            return True
        refused = event.message
        if not isinstance(refused, Refused) or refused.code not in ("busy", "unavailable"):
            return False
        self._place.free_at_s = time.monotonic() + max(refused.retry_after_s, MIN_REST_S)
        return self.move(raised(refused), on_peer)

    def _go(self, place: CloudLink | None, reason: HocketError, on_peer: OnPeer) -> bool:
        if place is None:
            return False
        self._place = place
        on_peer(False, reason)  # and yet it is up: by that a session knows that it has moved
        on_peer(True, None)
        return True
