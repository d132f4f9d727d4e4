"""The interface of a store of documents, of whichever kind it is, as a collection uses it.

A document appears, changes and goes whole: whoever reads, or dies while writing, sees all of it or nothing.

Laws of every kind. A search `within` a folder finds what a scan of that folder alone would, and never fewer than
min(limit, matches). What `remove` took out is found by nothing from then on, and `purge` says when no page holds its
text. A follower that knows the `ids` of one state comes to any later one by `Change`s, or by comparing `ids`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from .records import Change, Chunk, Document, DocumentInfo, Ids, NewChunk, OnStored, Vectors, unobserved


class TextIndex(Protocol):
    """A search of chunks by their words, as lexical.py cuts them."""

    def by_words(self, query: str, limit: int, within: tuple[str, ...] = ()) -> dict[int, float]:
        """Scores above 0 of the best chunks that have a word of `query`, by their ids, best first.

        They compare within one result only. `within` are folders, or names of documents; empty: everywhere.
        """
        ...

    def frequency(self, word: str, limit: int) -> int:
        """Return how many chunks have a word of `telling_words`, counted up to `limit`."""
        ...

    def documents_with(self, one: str, other: str) -> list[str]:
        """Names of all documents that have two words in a row; others that have both may be among them."""
        ...


class VectorIndex(Protocol):
    """A search of chunks by their meaning."""

    def by_meaning(self, vector: Vectors, limit: int, within: tuple[str, ...] = ()) -> dict[int, float]:
        """Cosines of the chunks nearest to a [dimension] vector of length 1 by their ids, nearest first."""
        ...


class Moment(TextIndex, VectorIndex, Protocol):
    """Reads of one state of the store."""

    def generation(self) -> int:
        """Return a number that grows with every change to the chunks."""
        ...

    def state(self) -> str:
        """Return a name that no other state of the chunks has."""
        ...

    def totals(self) -> tuple[int, int]:
        """Return the numbers of documents and of chunks in the store."""
        ...

    def stale(self, recipe: str) -> list[str]:
        """Names of documents made by another recipe."""
        ...

    def recipes(self) -> set[str]:
        """The recipes of all documents."""
        ...

    def documents(self) -> list[DocumentInfo]:
        """Return all documents, by name."""
        ...

    def document(self, name: str) -> Document | None:
        """The document of this name; None when it is not here."""
        ...

    def missing(self, digests: Sequence[bytes]) -> set[bytes]:
        """Return the digests that have no vector yet."""
        ...

    def chunks(self, ids: Iterable[int]) -> Iterator[Chunk]:
        """The chunks with these ids, in this order; ids no longer here are left out."""
        ...

    def chunk_at(self, document: str, ordinal: int) -> Chunk | None:
        """The chunk at a place; None when it is not here."""
        ...

    def chunks_of(self, document: str, first: int, end: int) -> list[Chunk]:
        """The chunks of a document with ordinals from `first` to below `end`, in their order."""
        ...

    def texts(self, after: int, limit: int) -> list[tuple[int, str]]:
        """(chunk id, text) of at most `limit` chunks with ids above `after`, in their order."""
        ...

    def ids(self) -> Ids:
        """The ids of all chunks, ascending."""
        ...

    def located(self, ids: Ids) -> list[tuple[int, str, int]]:
        """(chunk id, document, ordinal) of the chunks with these ids; ids no longer here are left out."""
        ...


class Readable(Protocol):
    """Reads of a store, from any thread, as searches need them."""

    def moment(self) -> AbstractContextManager[Moment]:
        """Open a Moment, whose reads all see one and the same state of the documents."""
        ...


class DocumentStore(Readable, Protocol):
    """A store of documents. Reads may come from any thread, writes take turns; raises StoreError, StoreFull."""

    def put_vectors(self, digests: Sequence[bytes], vectors: Vectors) -> None:
        """Keep the vectors of texts, rows of `vectors` by digest; known digests are left as they are."""
        ...

    def put_document(self, document: Document, chunks: Sequence[NewChunk], on_stored: OnStored = unobserved) -> Change:
        """Add the document, in place of its old version if there is one. The vectors of all chunks must be stored.

        `on_stored` is called meanwhile with the number of chunks stored so far, which may still be undone.
        """
        ...

    def remove(self, names: Sequence[str]) -> Change:
        """Remove documents; unknown names are passed over."""
        ...

    def sweep(self) -> None:
        """Drop vectors that no chunk uses; not while an ingestion has stored vectors and not yet their document."""
        ...

    def purge(self) -> None:
        """Let no page of the store hold text that was removed, as far as that is in this process's hands."""
        ...

    def sync(self) -> None:
        """Let all that was written outlive a power cut."""
        ...

    def save(self) -> None:
        """Save what would else be made anew at the next start."""
        ...

    def close(self) -> None:
        """Release everything; reads under way must have ended."""
        ...
