"""Reading of stored documents: a document's text, passages by their places, and files that were not read."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from .retrieval import Place
from .types import Conversation, Count, Entry, Id, Line, Message, Name, Record, Text

MAX_EMBEDDED = 256  # texts of one request


class Quote(Message, frozen=True):
    """A request for passages that were found before. Answered with Passages, without those that are no longer here."""

    request: Id
    places: Annotated[list[Place], Meta(max_length=64)]


class ShowDocument(Message, frozen=True):
    """A request for a document's text from `offset` on: the document with the first of these names that exists.

    If none does, the last name may be the end of a document's name, if of one document alone.
    """

    request: Id
    names: Annotated[list[Line], Meta(max_length=4)]
    offset: Count = 0


class PlaceFrom(Record, frozen=True):
    """A place in a file, and the offset in its text from which on it applies."""

    offset: Count
    place: Line


class DocumentText(Message, frozen=True):
    """A page of a document's text, of `total` characters, and the places that begin in it.

    `version` is another one where the document has changed between two pages.
    """

    request: Id
    name: Line
    title: Line
    version: Name
    text: Text
    outline: Annotated[list[PlaceFrom], Meta(max_length=1_000)]
    total: Count


class ListSkipped(Message, frozen=True):
    """A request for what was not read when files were last ingested, from the `offset`-th on, by name."""

    request: Id
    offset: Count = 0


class PassedOver(Record, frozen=True):
    """A file or folder that was not read, or not all of it, and why."""

    name: Line
    reason: Line


class Skipped(Message, frozen=True):
    """A page of the files and folders that were not read; `total` counts all of them."""

    request: Id
    files: Annotated[list[PassedOver], Meta(max_length=1_000)]
    total: Count


class Embed(Message, frozen=True):
    """A request for vectors of texts, as documents or as queries: some embedders read these differently."""

    request: Id
    texts: Annotated[list[Annotated[str, Meta(max_length=50_000)]], Meta(max_length=MAX_EMBEDDED)]
    role: Literal["document", "query"] = "document"


class Embedded(Message, frozen=True):
    """The answer to Embed, in its order: float32 vectors of length 1, little-endian. `embedder` names their space."""

    request: Id
    vectors: Annotated[list[Annotated[bytes, Meta(max_length=65_536)]], Meta(max_length=MAX_EMBEDDED)]
    embedder: Line


CONVERSATION = Conversation(
    codes=range(104, 112),
    entries=(
        Entry(104, Quote, "documents", "documents"),
        Entry(105, ShowDocument, "documents", "documents"),
        Entry(106, DocumentText, "documents", "never"),
        Entry(107, ListSkipped, "documents", "documents"),
        Entry(108, Skipped, "documents", "never"),
        Entry(109, Embed, "documents", "documents"),
        Entry(110, Embedded, "documents", "never"),
    ),
)
