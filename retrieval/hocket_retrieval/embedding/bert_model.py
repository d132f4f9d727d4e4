"""A BERT as an embedder: a few texts are read here, by numpy; many in a process of their own, by torch.

So a daemon at rest holds neither torch nor weights of its own, and an ingestion's memory ends with the process.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import structlog

from hocket_bus.errors import Unavailable

from .bert import Bert, Rows
from .bulk import Bulk

_FEW = 16_000  # characters of texts; here they take as long as the process takes to start

log = structlog.get_logger(__name__)


class BertModel:
    """A BERT of a folder. May be used by several threads."""

    def __init__(self, folder: Path, threads: int, precision: str) -> None:
        """Load the model. Raises what reading and parsing files raise.

        Many texts are computed on `threads` cores, in the `precision`; a few on as many as numpy uses, in float32.
        """
        self._bert = Bert(folder)
        self._bulk = Bulk(folder, threads, precision)
        self.prompts, self.dimension, self.digest = self._bert.prompts, self._bert.dimension, self._bert.digest

    def query(self, text: str) -> Rows:
        """Return the vector of a query, shape (dimension,)."""
        return np.ascontiguousarray(self._bert.vectors([text])[0])

    def documents(self, texts: Sequence[str]) -> Rows:
        """Return the vectors of chunks, shape (len(texts), dimension)."""
        if sum(map(len, texts)) <= _FEW:
            return self._bert.vectors(texts)
        try:
            return self._bulk.vectors(texts, self.dimension)
        except Unavailable as error:  # these take longer, and come out the same
            log.warning("many texts are embedded more slowly than they could be", reason=str(error))
            return self._bert.vectors(texts)

    def rest(self) -> None:
        """Give back what many texts have taken, until there are such again."""
        self._bulk.rest()
