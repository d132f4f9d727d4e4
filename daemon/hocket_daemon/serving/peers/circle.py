"""Devices of a group as an answer's session meets them: found by the cloud, spoken to in sealed boxes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from hocket_bus.errors import HocketError
from hocket_bus.messages import FindMembers, FoundMember, MemberOutcome, MembersFound, Message

from ..mode import Peer

# None: it takes part, and reads. An error: it cannot be reached now.
Take = Callable[[Message | HocketError | None], None]


class Circle(Protocol):
    """The other devices of this one's group."""

    def find(
        self,
        cloud: Peer,
        asked: FindMembers,
        done: Callable[[MembersFound | HocketError], None],
    ) -> None:
        """Who may know an answer, of those that this cloud knows.

        `done` is called once, unless the session leaves before; nothing else ends the wait.
        """

    def seat(self, cloud: Peer, session: bytes, member: FoundMember, take: Take, notify: Callable[[str], None]) -> Peer:
        """A member of a session that this device leads; `notify` gets a line where it was never seen before.

        Raises Forbidden where its key is another one than before.
        """

    def met(self, member: MemberOutcome) -> None:
        """What a member's part in an answer was."""

    def leave(self, session: bytes) -> None:
        """The session is over."""
