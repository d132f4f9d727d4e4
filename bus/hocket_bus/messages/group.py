"""Devices of a group that write one answer: who may take part, and what they say to each other, sealed.

A device asks its cloud who may know something. What it and the others then say to each other passes the cloud in boxes
that the cloud cannot open; within are the messages of an aggregation.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from .types import MAX_QUESTION_CHARS, Conversation, Count, Entry, Id, Line, Message, Name, Record, Seconds

MAX_MEMBERS = 16  # of a session, the cloud and the asked device not counted
MAX_BOX_BYTES = 1 << 19

SealingPublic = Annotated[bytes, Meta(min_length=32, max_length=32)]


class FindMembers(Message, frozen=True):
    """Who of the asking device's group may know an answer: those of `names`, or by their summaries if none is named.

    `most` is how many are wanted; `query` is empty where `names` are told.
    """

    session: Id
    query: Annotated[str, Meta(max_length=MAX_QUESTION_CHARS)]
    names: Annotated[list[Name], Meta(max_length=MAX_MEMBERS)]
    most: Annotated[int, Meta(ge=1, le=MAX_MEMBERS)]


class FoundMember(Record, frozen=True):
    """A device that is connected: its public key for sealed boxes, the round trip to it, and what of it matches."""

    name: Name
    key: SealingPublic
    rtt_s: Seconds
    subgraph: Count = 0
    score: float = 0.0


class MembersFound(Message, frozen=True):
    """The answer, best first; `notices` say why others are not there."""

    session: Id
    members: Annotated[list[FoundMember], Meta(max_length=MAX_MEMBERS)]
    notices: Annotated[list[Line], Meta(max_length=2 * MAX_MEMBERS)]


class Sealed(Message, frozen=True):
    """A box from device to device. On its way to the cloud `member` names who shall get it, from there who sent it."""

    session: Id
    member: Name
    payload: bytes


class Unreached(Message, frozen=True):
    """A box did not get to `member`."""

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
