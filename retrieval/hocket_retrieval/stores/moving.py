"""A move of documents from one store to another: copied one by one, each whole, then compared.

A move that was interrupted goes on: what the other store has already, unchanged, is not copied again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..errors import StoreError
from .protocol import DocumentStore, Moment
from .records import Chunk, Document, NewChunk, digest


class Moved(NamedTuple):
    """Documents that both stores hold now, those of them that were copied this time, and the chunks of all."""

    documents: int
    copied: int
    chunks: int


def move(source: DocumentStore, target: DocumentStore, on_progress: Callable[[int, int], None]) -> Moved:
    """Copy every document of `source` into `target`; the source stays as it is. `on_progress` gets done and total.

    Raises StoreError where the target holds other documents, or in the end not the same.
    """
    with source.moment() as moment:
        names = [document.name for document in moment.documents()]
        with target.moment() as there:
            foreign = {document.name for document in there.documents()} - set(names)
        if foreign:
            text = f"the other store holds documents that are not in this one, such as {min(foreign)}"
            raise StoreError(text, "move into an empty store")
        copied = chunks = 0
        for done, name in enumerate(names):
            on_progress(done, len(names))
            copied += _copy(moment, target, name)
            chunks += _compare(moment, target, name)
        on_progress(len(names), len(names))
    target.sync()
    target.save()
    return Moved(len(names), copied, chunks)


def _copy(moment: Moment, target: DocumentStore, name: str) -> bool:
    """Copy a document unless the target has it; tell whether it had to be copied."""
    document = _document(moment, name)
    with target.moment() as there:
        if there.document(name) == document:
            return False
    embedder = document.recipe.partition(" ")[0]
    new, vectors = list[NewChunk](), {}
    for chunk in _chunks(moment, name):
        key = digest(embedder, chunk.text)
        vectors[key] = chunk.vector
        new.append(NewChunk(chunk.text, key, chunk.place))
    if vectors:
        target.put_vectors(list(vectors), np.stack(list(vectors.values())))
    target.put_document(document, new)
    return True


def _compare(moment: Moment, target: DocumentStore, name: str) -> int:
    """Compare a document in both stores; return its number of chunks. Raises StoreError where they differ."""
    own = [_content(chunk) for chunk in _chunks(moment, name)]
    with target.moment() as there:
        same = there.document(name) == moment.document(name)
        if not same or [_content(chunk) for chunk in _chunks(there, name)] != own:
            raise StoreError(f"{name} differs between the two stores", "move again into an empty store")
    return len(own)


def _document(moment: Moment, name: str) -> Document:
    document = moment.document(name)
    assert document is not None  # it is of this moment's list
    return document


def _chunks(moment: Moment, name: str) -> Iterator[Chunk]:
    ordinal = 0
    while (chunk := moment.chunk_at(name, ordinal)) is not None:
        yield chunk
        ordinal += 1


def _content(chunk: Chunk) -> tuple[str, str, str, bytes]:
    return chunk.title, chunk.text, chunk.place, chunk.vector.tobytes()
