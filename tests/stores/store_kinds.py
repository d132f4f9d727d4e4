"""The kinds of stores that the laws are asked of, and documents to put into one."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from hocket_retrieval.config import StoreConfig
from hocket_retrieval.stores.opening import open_store
from hocket_retrieval.stores.protocol import DocumentStore
from hocket_retrieval.stores.records import Change, Document, NewChunk, Vectors, digest

KINDS = ("sqlite", "lancedb", "postgres")
SHARED = KINDS[1:]  # by several daemons, and with an index of vectors that may miss some
DIMENSION = 16
RECIPE = "recipe"


def opened(kind: str, place: str, dimension: int = DIMENSION) -> DocumentStore:
    """The store of a kind at a place."""
    return open_store(StoreConfig(kind=kind, place=place), Path(place), "toy", dimension)  # type: ignore[arg-type]


def vector_of(text: str) -> Vectors:
    """Of length 1, the same in every process."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    vector = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def put(store: DocumentStore, name: str, *fragments: str, recipe: str = RECIPE) -> Change:
    """Store a document of these chunks."""
    digests = [digest("toy", piece) for piece in fragments]
    if fragments:
        store.put_vectors(digests, np.stack([vector_of(piece) for piece in fragments]))
    document = Document(name, f"Title of {name}", "\n".join(fragments), b"sha", recipe, ((0, "p. 1"), (3, "p. 2")))
    chunks = [NewChunk(piece, key, f"p. {at}") for at, (piece, key) in enumerate(zip(fragments, digests, strict=True))]
    return store.put_document(document, chunks)
