"""Embedders for runs: one that caches the vectors of texts, and one for runs that need no vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hocket_retrieval.embedding.embedder import Embedder, Vectors


class RememberingEmbedder(Embedder):
    """The bundled embedder with a cache: each text is embedded once."""

    def __init__(self) -> None:
        """Load the bundled embedder. Raises ModelError."""
        super().__init__()
        self._queries: dict[str, Vectors] = {}
        self._documents: dict[str, Vectors] = {}

    def query(self, text: str) -> Vectors:
        """The vector of a query."""
        if text not in self._queries:
            self._queries[text] = super().query(text)
        return self._queries[text]

    def documents(self, texts: Sequence[str]) -> Vectors:
        """The vectors of chunks, or of sentences."""
        unknown = [text for text in dict.fromkeys(texts) if text not in self._documents]
        if unknown:
            self._documents |= zip(unknown, super().documents(unknown), strict=True)
        return np.stack([self._documents[text] for text in texts])


class FlatEmbedder(Embedder):
    """An embedder that gives every text the same vector, for graphs, which need none."""

    def __init__(self) -> None:
        self.dimension, self.fingerprint = 8, "cosine:flat"

    def query(self, text: str) -> Vectors:
        """Return the vector of a query."""
        first: Vectors = self.documents([text])[0]
        return first

    def documents(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of chunks."""
        rows: Vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        rows[:, 0] = 1
        return rows

    def rest(self) -> None:
        """Do nothing: no model is loaded."""
