"""The cloud daemons of a device: which of them each session is with, and where it moves.

A device has links to two daemons of its owner's list, or to one. A session begins with the less loaded of them, and
moves to the other one when its own is busy, falls silent or drains. To the session this looks like a peer that went
away and came back: it goes on there at its exact prefix, as with a restarted cloud. Knows no mode and no file.
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
    """A link to the cloud daemon with the public key `key`, which takes `capacity` sessions."""

    link: Link
    key: str
    capacity: int = 1
    free_at_s: float = 0.0  # when it may be asked again, where it was busy

    def takes(self, now: float) -> bool:
        """Tell whether a session may begin with this daemon."""
        return self.link.up and not self.link.draining and now >= self.free_at_s

    @property
    def load(self) -> float:
        """The share of this daemon's places that are taken, by its own report."""
        return self.link.load / self.capacity


class Cluster:
    """A device's links to its cloud daemons, the preferred one first."""

    def __init__(self) -> None:
        self.links: Sequence[CloudLink] = ()

    def of(self, link: object) -> CloudLink | None:
        """Return the record of `link`, or None if the link has been given up."""
        return next((each for each in self.links if each.link is link), None)

    def least_loaded(self, besides: CloudLink | None = None) -> CloudLink | None:
        """Return the least loaded daemon that takes sessions, other than `besides`; None if there is none."""
        now = time.monotonic()
        taking = [each for each in self.links if each is not besides and each.takes(now)]
        return min(taking, key=lambda each: each.load, default=None)

    def reachable(self, besides: CloudLink | None = None) -> CloudLink | None:
        """Return the least loaded daemon that takes sessions, else any connected one, which will say when it does."""
        up = (each for each in self.links if each is not besides and each.link.up)
        return self.least_loaded(besides) or next(up, None)

    def peer(self) -> ClusterPeer:
        """Return the cloud as the peer of a new session. Needs a link."""
        return ClusterPeer(self, self.reachable() or self.links[0])


class ClusterPeer:
    """The cloud as the peer of one session: the daemon that the session is with, which may change at any moment."""

    user = ""

    def __init__(self, cluster: Cluster, place: CloudLink) -> None:
        self._cluster = cluster
        self._place = place

    @property
    def link(self) -> Link:
        """The link to the daemon that the session is with."""
        return self._place.link

    @property
    def up(self) -> bool:
        """Tell whether messages reach that daemon now."""
        return self.link.up

    @property
    def reason(self) -> HocketError | None:
        """The reason why messages do not reach that daemon."""
        return self.link.reason

    @property
    def aggregates(self) -> bool:
        """Tell whether that daemon's model reports probabilities, as far as it has said."""
        return self.link.aggregates

    @property
    def tokenizer(self) -> str:
        """The fingerprint of that daemon's tokenizer; empty while it has not said."""
        return self.link.tokenizer

    @property
    def rtt_s(self) -> float:
        """The round-trip time of the link, in seconds."""
        return self.link.rtt_s

    @property
    def first_tokens_s(self) -> Sequence[float]:
        """Equally likely seconds to that daemon's first token, as it reports them."""
        return self.link.first_tokens_s

    @property
    def silence_s(self) -> float:
        """Seconds since anything came over the link."""
        return self.link.silence_s

    def send(self, message: Message) -> None:
        """Send to that daemon. Raises Forbidden where the message must not leave."""
        self.link.send(message)

    def on_up(self, link: Link, on_peer: OnPeer) -> None:
        """Handle a link that is up now: the session's own, or one to use instead of its own, which is down."""
        place = self._cluster.of(link)
        if link is self.link:
            on_peer(True, None)
        elif place is not None and not self.up:
            self._place = place
            on_peer(True, None)

    def move(self, reason: HocketError, on_peer: OnPeer) -> bool:
        """Move to another daemon if one takes the session, and report `reason`; tell whether it moved."""
        return self._go(self._cluster.least_loaded(besides=self._place), reason, on_peer)

    def on_down(self, link: Link, reason: HocketError, on_peer: OnPeer) -> None:
        """Handle a link that is down now: move to another daemon, or report that the cloud is away."""
        if link is self.link and not self._go(self._cluster.reachable(besides=self._place), reason, on_peer):
            on_peer(False, reason)

    def is_elsewhere(self, event: Received, on_peer: OnPeer) -> bool:
        """Tell whether `event` is from a daemon that the session is not with, or has just left as it was refused."""
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
