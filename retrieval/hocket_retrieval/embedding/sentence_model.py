"""Models that sentence-transformers loads: any embedder but a BERT (bert.py), and re-rankers."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import CrossEncoder, SentenceTransformer
from torch.nn.functional import pad
from transformers.utils import logging

from .packed import packed, rounded
from .torch_pass import Features, Vectors, encoded, in_bfloat16, of_texts

_OF_TOKENS = ("input_ids", "token_type_ids", "attention_mask")  # each [texts, tokens]
_NO_PICKLES = {"use_safetensors": True}  # a pickled file of weights can run code; a folder's own code is never run
_PAIRS = 32  # a re-ranker scores at once


class SentenceModel:
    """An embedder of sentence-transformers. May be used by several threads."""

    def __init__(self, place: str, threads: int, precision: str) -> None:
        """Load the model from a folder, or a hub by its name. Raises what loading raises.

        Documents are computed on `threads` cores, in the `precision`; a query on one, in float32.
        """
        with _quiet_loading():
            local = Path(place).is_dir()
            self._model = SentenceTransformer(place, local_files_only=local, model_kwargs=_NO_PICKLES)
        self._threads = threads
        self._bfloat16 = in_bfloat16(precision, self._model.device)
        self._quick = packed(self._model)  # for queries, which are one at a time
        self._tokenizing = threading.Lock()  # a fast tokenizer refuses two threads at once
        self.prompts = self._model.prompts
        self.dimension = int(self._model.get_embedding_dimension() or 0)
        self.digest = digest_of(self._model.state_dict(), self._model.max_seq_length)

    def query(self, text: str) -> Vectors:
        """Return the vector of a query, shape (dimension,)."""
        tokens = _to_round_length(self._tokens([text]))
        return np.ascontiguousarray(self._encoded(self._quick, tokens, 1, bfloat16=False)[0])

    def documents(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of chunks, shape (len(texts), dimension)."""

        def encode(batch: list[str]) -> Vectors:
            return self._encoded(self._model, self._tokens(batch), self._threads, bfloat16=self._bfloat16)

        return of_texts(texts, self.dimension, encode)

    def _tokens(self, texts: list[str]) -> Features:
        with self._tokenizing:
            return self._model.preprocess(texts)

    def _encoded(self, model: SentenceTransformer, tokens: Features, threads: int, *, bfloat16: bool) -> Vectors:
        def call(moved: Features) -> torch.Tensor:
            vectors: torch.Tensor = model(moved)["sentence_embedding"]
            return vectors

        return encoded(call, tokens, self._model.device, threads=threads, bfloat16=bfloat16)


class PairModel:
    """A CrossEncoder of sentence-transformers. Its `predict` is for one thread at a time."""

    def __init__(self, name: str) -> None:
        """Load the model from a folder, or a hub by its name. Raises what loading raises."""
        with _quiet_loading():
            self._model: CrossEncoder = CrossEncoder(
                name,
                num_labels=1,
                activation_fn=torch.nn.Sigmoid(),
                local_files_only=Path(name).is_dir(),
                model_kwargs=_NO_PICKLES,
            )
        self.digest = digest_of(self._model.state_dict(), self._model.max_seq_length)

    def predict(self, pairs: list[tuple[str, str]]) -> Vectors:
        """Return the score of each pair, in [0, 1]."""
        scores = self._model.predict(pairs, batch_size=_PAIRS, show_progress_bar=False)
        return np.asarray(scores, dtype=np.float32).reshape(len(pairs))


def digest_of(weights: Mapping[str, torch.Tensor], length: int | None) -> str:
    """Return a digest of all that a vector depends on: the weights, and the text limit `length`."""
    sha = hashlib.sha256(str(length).encode())
    for name, tensor in sorted(weights.items()):
        sha.update(name.encode())
        sha.update(tensor.detach().float().cpu().contiguous().numpy().data)
    return sha.hexdigest()[:16]


def _to_round_length(tokens: Features) -> Features:
    """Pad one text's tokens with masked ones, up to as many as a product takes anyway."""
    length = tokens["input_ids"].shape[1]
    more = rounded(length) - length
    return tokens | {key: pad(tokens[key], (0, more)) for key in _OF_TOKENS if key in tokens}


@contextmanager
def _quiet_loading() -> Iterator[None]:
    """Hide the loader's own progress bar, which has no place in a log."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
