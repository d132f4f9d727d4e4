"""The kinds of fields that messages are made of, and the base of all messages."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Id = Annotated[bytes, Meta(min_length=16, max_length=16)]
Digest = Annotated[int, Meta(ge=0)]  # msgpack itself stops at 64 bits
Count = Annotated[int, Meta(ge=0, lt=1 << 32)]
TokenId = Annotated[int, Meta(ge=0, lt=1 << 18)]
TokenIds = Annotated[list[TokenId], Meta(max_length=65_536)]
Line = Annotated[str, Meta(max_length=2_000)]
Scorers = Annotated[list[Line], Meta(max_length=8)]
Text = Annotated[str, Meta(max_length=500_000)]
Seconds = Annotated[float, Meta(ge=0)]


class Record(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, kw_only=True):
    """Base of all that travels inside messages: on the wire, its fields in their order, without names."""


class Message(Record, frozen=True):
    """Base of all messages."""
