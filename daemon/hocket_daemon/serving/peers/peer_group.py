"""Devices of a group as peers of an answer's session: found by the cloud, addressed in sealed envelopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from hocket_bus.errors import HocketError
from hocket_bus.messages import FindMembers, FoundMember, MemberOutcome, MembersFound, Message

from ..mode import Peer

# None: it takes part, and reads. An error: it cannot be reached now.
Take = Callable[[Message | HocketError | None], None]


class PeerGroup(Protocol):
    """The other devices of this one's group."""

    def find(
        self,
        cloud: Peer,
        asked: FindMembers,
        done: Callable[[MembersFound | HocketError], None],
    ) -> None:
        """Find the members that may know an answer, among those that this cloud knows.

        `done` is called once, unless the session leaves before; nothing else ends the wait.
        """

    def participant(
        self, cloud: Peer, session: bytes, member: FoundMember, take: Take, notify: Callable[[str], None]
    ) -> Peer:
        """Add a member to a session that this device leads, and return it as a peer.

        `notify` gets a line if the member was never seen before. Raises Forbidden where its key is another one than
        before.
        """

    def record_outcome(self, member: MemberOutcome) -> None:
        """Record a member's part in an answer."""

    def leave(self, session: bytes) -> None:
        """Forget a session that is over."""
