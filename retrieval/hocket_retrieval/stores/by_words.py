"""A store whose vectors are of another embedder: its passages are found, and compared, by their words alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import cast

import numpy as np

from .protocol import Moment, Readable
from .records import Chunk, Vectors


class ByWords:
    """The reads of a store, with zeros of this `dimension` for its vectors: all are equally far from any question."""

    def __init__(self, store: Readable, dimension: int) -> None:
        self._store = store
        self._nowhere = np.zeros(dimension, np.float32)

    @contextmanager
    def moment(self) -> Iterator[Moment]:
        """Yield a Moment, whose reads all see one and the same state of the documents."""
        with self._store.moment() as moment:
            yield cast("Moment", _WithoutVectors(moment, self._nowhere))


class _WithoutVectors:
    """A Moment without its vectors."""

    def __init__(self, moment: Moment, nowhere: Vectors) -> None:
        self._moment = moment
        self._nowhere = nowhere

    def __getattr__(self, name: str) -> object:
        return getattr(self._moment, name)

    def by_meaning(self, _vector: Vectors, _limit: int, _within: tuple[str, ...] = ()) -> dict[int, float]:
        """Return nothing: no chunk is near."""
        return {}

    def chunks(self, ids: Iterable[int]) -> Iterator[Chunk]:
        """Yield the chunks of these ids, in this order, without their vectors."""
        return map(self._without, self._moment.chunks(ids))

    def chunk_at(self, document: str, ordinal: int) -> Chunk | None:
        """Return the chunk at a place, without its vector; None where it is not here."""
        chunk = self._moment.chunk_at(document, ordinal)
        return chunk and self._without(chunk)

    def chunks_of(self, document: str, first: int, end: int) -> list[Chunk]:
        """Return the chunks of a document in a range of ordinals, without their vectors."""
        return list(map(self._without, self._moment.chunks_of(document, first, end)))

    def _without(self, chunk: Chunk) -> Chunk:
        return chunk._replace(vector=self._nowhere)
