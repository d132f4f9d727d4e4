"""Pairs of texts as scores."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from .embedder import one_line

_REMEDY = "name a sentence-transformers folder, or a hub model that this machine can reach"


class Reranker:
    """A CrossEncoder: reads query and passage together; a score is a probability in [0, 1].

    May be used from several threads at once.
    """

    def __init__(self, name: str) -> None:
        """Load the model: a folder or a hub name. Raises ModelError."""
        self.name = name
        try:
            from .sentence_model import PairModel

            self._model = PairModel(name)
        except Exception as error:  # a hub, a disk and a model format fail in many ways
            raise ModelError(f"cannot load the re-ranker '{name}': {one_line(error)}", _REMEDY) from error
        self._predicting = threading.Lock()
        self.fingerprint = f"sigmoid:{self._model.digest}"

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return how well each text answers the query, shape (len(texts),)."""
        with self._predicting:
            return self._model.predict([(query, text) for text in texts])
