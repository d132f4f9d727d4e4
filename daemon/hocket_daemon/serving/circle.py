"""Devices of a group as an answer's session meets them: found by the cloud, spoken to in sealed boxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from hocket_bus.errors import HocketError
from hocket_bus.messages import FoundMember, MemberOutcome, MembersFound, Message

from .mode import Peer

# None: it takes part, and reads. An error: it cannot be reached now.
Take = Callable[[Message | HocketError | None], None]


class Circle(Protocol):
    """The other devices of this one's group."""

    def find(
        self,
        session: bytes,
        query: str,
        names: Sequence[str],
        most: int,
        done: Callable[[MembersFound | HocketError], None],
    ) -> None:
        """Who may know an answer, at most `most`: those of `names`, or by what they share if none is named.

        `done` is called once, unless the session leaves before; nothing else ends the wait.
        """

    def seat(self, session: bytes, member: FoundMember, take: Take) -> Peer:
        """A member of a session that this device leads. Raises Forbidden where its key is another one than before."""

    def met(self, member: MemberOutcome) -> None:
        """What a member's part in an answer was."""

    def leave(self, session: bytes) -> None:
        """The session is over."""
