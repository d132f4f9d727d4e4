"""The records of a store of documents, as its callers give and get them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Vectors = NDArray[np.float32]
Outline = tuple[tuple[int, str], ...]
OnStored = Callable[[int], None]  # takes how many chunks of a document are taken in so far
TAKEN_IN = 1_000  # chunks at once


class Document(NamedTuple):
    """A document as it is stored: `sha256` of its source, `recipe` of its chunks.

    `outline` are places, each with the offset in `text` from where it holds: pages, sheets, slides, headings.
    """

    name: str
    title: str
    text: str
    sha256: bytes
    recipe: str
    outline: Outline = ()


class NewChunk(NamedTuple):
    """A chunk to store: its text, the digest of its vector, and its place."""

    text: str
    digest: bytes
    place: str = ""


class Chunk(NamedTuple):
    """A stored chunk; `vector_id` is equal for chunks of equal text.

    `place` says where in its document it begins, such as "p. 3, § Deposit"; empty where nothing is known of it.
    """

    id: int
    document: str
    title: str
    ordinal: int
    text: str
    place: str
    vector_id: int
    vector: Vectors


class DocumentInfo(NamedTuple):
    """A stored document; `ingested_at` in seconds of the wall clock, for display."""

    name: str
    title: str
    chunks: int
    ingested_at: float


class Change(NamedTuple):
    """The change that a write made to the chunks: ids removed, ids added, and the state that it led to."""

    removed: Ids
    added: Ids
    state: str


def unobserved(_: int) -> None:
    """Ignore the progress of a write."""


def parts_of(chunks: Sequence[NewChunk]) -> Iterator[Sequence[NewChunk]]:
    """Yield the chunks to store at once: so neither a statement nor a silence is as long as a document may be."""
    return (chunks[first : first + TAKEN_IN] for first in range(0, len(chunks), TAKEN_IN))


def digest(fingerprint: str, text: str) -> bytes:
    """The key of a text's vector under an embedder."""
    return hashlib.sha256(f"{fingerprint}\0{text}".encode()).digest()[:16]
