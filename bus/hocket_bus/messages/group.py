"""Devices of a group that write one answer: who may take part, and their sealed messages to each other.

A device asks its cloud who may know something. Its messages to the others then pass the cloud in sealed envelopes that
the cloud cannot open; inside are the messages of an aggregation.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from .types import MAX_QUESTION_CHARS, Conversation, Count, Entry, Id, Line, Message, Name, Record, Seconds

MAX_MEMBERS = 16  # of a session, the cloud and the asked device not counted
MAX_ENVELOPE_BYTES = 1 << 19

SealingPublic = Annotated[bytes, Meta(min_length=32, max_length=32)]


class FindMembers(Message, frozen=True):
    """A request for members of the device's group that may know an answer: those of `names`, or by their summaries.

    Summaries are matched if none is named. `most` is how many are wanted; `query` is empty if there are `names`.
    """

    session: Id
    query: Annotated[str, Meta(max_length=MAX_QUESTION_CHARS)]
    names: Annotated[list[Name], Meta(max_length=MAX_MEMBERS)]
    most: Annotated[int, Meta(ge=1, le=MAX_MEMBERS)]


class FoundMember(Record, frozen=True):
    """A connected device: its public key for sealed envelopes, the round trip to it, and what of it matches."""

    name: Name
    key: SealingPublic
    rtt_s: Seconds
    subgraph: Count = 0
    score: float = 0.0


class MembersFound(Message, frozen=True):
    """The answer to FindMembers, best first; `notices` say why others are not there."""

    session: Id
    members: Annotated[list[FoundMember], Meta(max_length=MAX_MEMBERS)]
    notices: Annotated[list[Line], Meta(max_length=2 * MAX_MEMBERS)]


class Sealed(Message, frozen=True):
    """A sealed envelope from device to device. To the cloud `member` names the receiver, from the cloud the sender."""

    session: Id
    member: Name
    payload: bytes


class Unreached(Message, frozen=True):
    """A notice that an envelope did not reach `member`."""

    session: Id
    member: Name
    why: Line


CONVERSATION = Conversation(
    codes=range(112, 120),
    entries=(
        Entry(112, FindMembers, "query", "pair"),
        Entry(113, MembersFound, "control", "never"),
        Entry(114, Sealed, "sealed", "pair"),
        Entry(115, Unreached, "control", "never"),
    ),
)
