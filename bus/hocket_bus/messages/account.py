"""The account of the bits that words of answers disclosed: asked of a device by its owner's clients."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from .types import Conversation, Entry, Id, Line, Message, Name, Record

MAX_DOCUMENTS = 200  # with the longest names of documents and peers they fit into a message
MAX_READERS = 8
MAX_DAYS = 31

Bits = Annotated[float, Meta(ge=0.0)]


class ShowAccount(Message, frozen=True):
    """A request for the bits that each document has disclosed."""

    request: Id


class DocumentBits(Record, frozen=True):
    """The bits that a document has disclosed: today, ever, and to each peer; `last` is the day of the last."""

    document: Line
    today: Bits
    total: Bits
    peers: Annotated[dict[Name, Bits], Meta(max_length=MAX_READERS)]
    last: Line


class Account(Message, frozen=True):
    """The account: at most 200 documents, the most disclosed first, and the bounds of each; a bound of 0 is none.

    `days` are the bits of all documents on each of the last days on which any left, YYYY-MM-DD, oldest first.
    Without words as the only drafts that leave, bits are not counted, and `documents` are of an earlier time.
    """

    request: Id
    is_counted: bool
    documents: Annotated[list[DocumentBits], Meta(max_length=MAX_DOCUMENTS)]
    bits_a_day: Bits = 0.0
    bits_a_document: Bits = 0.0
    days: Annotated[dict[Name, Bits], Meta(max_length=MAX_DAYS)] = {}


CONVERSATION = Conversation(
    codes=range(120, 128),
    entries=(
        Entry(120, ShowAccount, "control", "watch"),
        Entry(121, Account, "documents", "never"),
    ),
)
