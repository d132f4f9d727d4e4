"""Composition: a text as it is typed, suggestions of what may follow, and the memory that the cloud writes meanwhile.

A client sends its device the changes of a text, and gets suggestions on its topic. A device asks its cloud for
takeaways; the query is all that leaves it. `Refused` is aggregation's, `Cancel` and `Error` are everybody's.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from .types import Conversation, Count, Entry, Id, Line, Message, Record, Seconds, Side

MAX_TEXT_BYTES = 990_000  # of UTF-8: a body has 1 MiB at most
SUGGESTED, MAX_SUGGESTED = 15, 44  # tokens: of a suggestion unless said otherwise, and at most
MAX_QUERY_WORDS, MAX_QUERY_CHARS = 64, 2_000
MAX_TAKEAWAYS = 32

Written = Annotated[str, Meta(max_length=MAX_TEXT_BYTES)]


class Reference(Record, frozen=True):
    """The source of a takeaway: a document, and whose it is."""

    side: Side
    document: Line


class Takeaway(Record, frozen=True):
    """A sentence that the memory holds, and the document that it is from."""

    text: Line
    document: Line


class Compose(Message, frozen=True):
    """A text in full and the place of the cursor in it, in characters: opens a session, or sends all of it again.

    Suggestions of at most `tokens` tokens are published on `topic`; `remembers` lets the device ask for memory.
    """

    request: Id
    topic: Id
    version: Count
    text: Written
    cursor: Count
    tokens: Annotated[int, Meta(ge=1, le=MAX_SUGGESTED)] = SUGGESTED
    remembers: bool = True


class Edit(Message, frozen=True):
    """An edit: `removed` characters from `at` on gave way to `inserted`; version `base` of the text became `version`.

    With nothing removed or inserted it asks for the suggestion again.
    """

    request: Id
    base: Count
    version: Count
    at: Count
    removed: Count
    inserted: Written
    cursor: Count


class Behind(Message, frozen=True):
    """A notice that the device does not have the version an Edit is based on: send all of the text again."""

    request: Id


class Suggestion(Message, frozen=True):
    """A suggestion of what may follow the cursor of a version; empty if nothing does. Sent again with newer memory.

    Such memory is on its way if `expects_s` is not 0: the suggestion with it comes within so many seconds, or never.
    `ms` is what it took on the device, in `passes` of the model; none for what had been computed before. Memory is
    `memory_age_s` old, 0 if there is none, and `sources` are the documents of its takeaways.
    """

    request: Id
    version: Count
    text: Line
    ms: Seconds
    passes: Count
    memory_age_s: Seconds
    sources: Annotated[list[Reference], Meta(max_length=MAX_TAKEAWAYS)] = []
    expects_s: Seconds = 0.0


class Remembered(Message, frozen=True):
    """New takeaways of a side's documents, and what wrote them."""

    request: Id
    side: Side
    takeaways: Annotated[list[Takeaway], Meta(max_length=MAX_TAKEAWAYS)]
    generator: Line


class MemoryRequest(Message, frozen=True):
    """A request to the cloud for at most `takeaways` of the `k` passages nearest the query."""

    session: Id
    query: Annotated[str, Meta(max_length=MAX_QUERY_CHARS)]
    k: Annotated[int, Meta(ge=1, le=16)] = 3
    takeaways: Annotated[int, Meta(ge=1, le=MAX_TAKEAWAYS)] = 6


class Memory(Message, frozen=True):
    """The answer to MemoryRequest; `generator` is "extractive", or the model that wrote the takeaways."""

    session: Id
    takeaways: Annotated[list[Takeaway], Meta(max_length=MAX_TAKEAWAYS)]
    generator: Line
    seconds: Seconds


CONVERSATION = Conversation(
    codes=range(80, 88),
    entries=(
        Entry(80, Compose, "query", "ask"),
        Entry(81, Edit, "query", "ask"),
        Entry(82, Behind, "control", "never"),
        Entry(83, Suggestion, "answer", "never"),
        Entry(84, Remembered, "answer", "never"),
        Entry(85, MemoryRequest, "memory", "pair"),
        Entry(86, Memory, "memory", "never"),
    ),
)
