"""Requests of people to the store: a document's text, passages by their places, skipped files, and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hocket_bus import messages as m
from hocket_bus.faults import notice_text

from ..embedding.embedder import Embedder
from ..errors import QueryError
from ..ingestion.skipped import SkippedFiles
from ..stores.protocol import DocumentStore, Moment
from ..stores.records import Document
from .replies import passage

PAGE_CHARS = 100_000
PAGE_PLACES = 500
PAGE_FILES = 200
_NAMED = 3  # of several documents that may be meant

Asked = m.Quote | m.ShowDocument | m.ListSkipped | m.Embed


class Shelf(Protocol):
    """The part of a collection that is used here."""

    skipped: SkippedFiles

    @property
    def embedder(self) -> Embedder:
        """Return the embedder that makes its vectors."""

    @property
    def store(self) -> DocumentStore:
        """The document store."""


def answered(collection: Shelf, asked: Asked) -> m.Message:
    """The answer to one request. Raises QueryError."""
    match asked:
        case m.Quote():
            return _passages(collection.store, asked)
        case m.ShowDocument():
            return _text(_document(collection.store, asked.names), asked)
        case m.ListSkipped():
            page, total = collection.skipped.page(asked.offset, PAGE_FILES)
            files = [m.PassedOver(name=notice_text(name), reason=notice_text(reason)) for name, reason in page]
            return m.Skipped(request=asked.request, files=files, total=total)
        case m.Embed():
            return _vectors(collection.embedder, asked)


def _vectors(embedder: Embedder, asked: m.Embed) -> m.Embedded:
    """Embed texts as queries or as documents. Raises QueryError for an empty text."""
    if not all(text.strip() for text in asked.texts):
        raise QueryError("a text to embed is empty", "leave it out")
    if asked.role == "query":
        rows = [embedder.query(text) for text in asked.texts]
    else:
        rows = list(embedder.documents(asked.texts)) if asked.texts else []
    vectors = [row.astype("<f4").tobytes() for row in rows]
    return m.Embedded(request=asked.request, vectors=vectors, embedder=embedder.fingerprint)


def _passages(store: DocumentStore, asked: m.Quote) -> m.Passages:
    with store.moment() as moment:
        chunks = [moment.chunk_at(place.document, place.ordinal) for place in asked.places]
        total, _ = moment.totals()
    found = [passage(chunk) for chunk in chunks if chunk is not None]
    return m.Passages(request=asked.request, passages=found, scorer="", scorers=[], documents_total=total, seconds=0.0)


def _document(store: DocumentStore, names: Sequence[str]) -> Document:
    """Return the document that is meant. Raises QueryError where none is, or several may be."""
    with store.moment() as moment:
        for name in names:
            if document := moment.document(name):
                return document
        end = names[-1] if names else ""
        document = moment.document(_ending(moment, end))
    if document is None:
        raise QueryError(
            f"no document '{end}' is stored here", "see the list: hocket documents --side device, or cloud"
        )
    return document


def _ending(moment: Moment, end: str) -> str:
    """Return the one name that ends so, empty where none does. Raises QueryError where several do."""
    found = [each.name for each in moment.documents() if end and each.name.endswith(f"/{end.lstrip('/')}")]
    if len(found) > 1:
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        named = ", ".join(found[:_NAMED])
        raise QueryError(f"'{end}' matches {named}{more}", "give more of the path")
    return found[0] if found else ""


def _text(document: Document, asked: m.ShowDocument) -> m.DocumentText:
    """Return the page of the text from `offset` on: PAGE_CHARS, and no more than PAGE_PLACES places."""
    begun = [entry for entry in document.outline if entry[0] >= asked.offset]
    until = min([asked.offset + PAGE_CHARS, *(offset for offset, _ in begun[PAGE_PLACES : PAGE_PLACES + 1])])
    return m.DocumentText(
        request=asked.request,
        name=document.name,
        title=document.title,
        version=document.sha256.hex(),
        text=document.text[asked.offset : until],
        outline=[m.PlaceFrom(offset=offset, place=place) for offset, place in begun if offset < until],
        total=len(document.text),
    )
