"""Errors of documents and searches, on the bus's axis: what can the caller do?

BadRequest
├── QueryError      the query cannot be searched as it stands
└── DocumentError   one file cannot be read; the others of the same job go on
Unavailable
├── IndexBuilding   nothing can be searched yet; wait, or watch the status
├── PassageGone     a passage found before has been removed since
├── VectorsGone     a document's vectors were dropped before it was stored
└── StoreFull       the disk takes no more
BadConfiguration
├── StoreError      the store on disk cannot be used by this version
└── ModelError      the embedder or the re-ranker cannot be loaded
"""

from __future__ import annotations

from hocket_bus.errors import BadConfiguration, BadRequest, Unavailable


class QueryError(BadRequest):
    """The query cannot be searched as it stands."""


class DocumentError(BadRequest):
    """A file that cannot be ingested; other files are not affected."""


class IndexBuilding(Unavailable):
    """The daemon is loading, or the first documents are on their way: nothing can be searched yet."""


class PassageGone(Unavailable):
    """A passage found before is no longer in the collection."""


class VectorsGone(Unavailable):
    """A document without its vectors: another daemon that shares the store removed the text that they are of."""

    def __init__(self, document: str) -> None:
        super().__init__(f"vectors of {document} are not in the store any more", "ingest it again")


class StoreFull(Unavailable):
    """The disk takes no more; what was in the store is as it was."""


class StoreError(BadConfiguration):
    """The store on disk is damaged, or of another version."""


class ModelError(BadConfiguration):
    """The embedder or the re-ranker cannot be loaded."""
