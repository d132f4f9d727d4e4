"""A BERT in numpy, for a query and a few texts: it begins at once, and its weights stay in the file.

Two daemons that map one file share its memory; torch alone takes 150 MB and a second in each. Rows stand upright,
[width, tokens], as a product with few columns is twice as fast this way. Texts are not padded: the tokens of several
stand one after the other, and each text attends to its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .bert_folder import Array, mapped, read_folder

Rows: TypeAlias = NDArray[np.float32]
_BLOCK = 512  # tokens that are computed at once, of whole texts: their rows stay in the processor's cache
# erf(x) = 1 - (Σ c_i t^i) exp(-x²) for x ≥ 0, t = 1 / (1 + p x), up to 1.5e-7: Abramowitz and Stegun, 7.1.26
_P = np.float32(0.3275911)
_C = [np.float32(c) for c in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)]
_HALF, _ROOT_HALF = np.float32(0.5), np.float32(math.sqrt(0.5))


class Bert:
    """A BERT that maps texts to unit vectors: the means over each text's tokens. May be used by several threads.

    A linear layer after it, where there is one, takes means of length 1.
    """

    def __init__(self, folder: Path) -> None:
        """Map the weights of a folder (bert_folder.py). Raises what reading, parsing and computing with it raises."""
        read = read_folder(folder)
        weights = _Weights(mapped(read.weights), np.float32(read.shape.layer_norm_eps))
        self.prompts = read.prompts
        self.digest = read.digest()
        self._words = weights.named("embeddings.word_embeddings.weight")
        self._positions = weights.named("embeddings.position_embeddings.weight")
        self._type = weights.named("embeddings.token_type_embeddings.weight")[0].astype(np.float32)
        self._norm = weights.norm("embeddings.LayerNorm")
        layers, heads = read.shape.num_hidden_layers, read.shape.num_attention_heads
        self._layers = [_Layer(weights, f"encoder.layer.{at}", heads) for at in range(layers)]
        dense = read.dense_weights
        self._dense = None if dense is None else _Weights(mapped(dense), np.float32(0)).linear("linear")
        self.dimension = self._words.shape[1]
        self._tokenizer = read.tokenizer()
        if read.length > len(self._positions):
            raise ValueError(f"texts of {read.length} tokens, and places for {len(self._positions)}")
        self.documents(["a"])  # raises where the weights do not fit together

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text's tokens."""
        return [list(read.ids) for read in self._tokenizer.encode_batch([text.strip() for text in texts])]

    def query(self, text: str) -> Rows:
        """Return the vector of a query, shape (width,)."""
        return np.ascontiguousarray(self.documents([text])[0])

    def documents(self, texts: Sequence[str]) -> Rows:
        """Return the vectors of texts, each of length 1, [texts, width]."""
        found = [self._means(block) for block in _blocks(self.tokens(texts))]
        rows = np.concatenate(found) if found else np.empty((0, self.dimension), np.float32)
        return rows if self._dense is None else _unit(np.ascontiguousarray(self._dense.of(rows.T).T))

    def _means(self, texts: list[list[int]]) -> Rows:
        """Return the mean of each text's tokens, of length 1, [texts, width]."""
        borders = np.cumsum([0, *map(len, texts)]).tolist()
        spans = [slice(*border) for border in pairwise(borders)]
        ids = np.concatenate([np.array(text) for text in texts])
        places = np.concatenate([np.arange(len(text)) for text in texts])
        read = self._words[ids].astype(np.float32) + self._positions[places] + self._type
        rows = self._norm.of(np.ascontiguousarray(read.T, np.float32))
        for layer in self._layers:
            rows = layer.of(rows, spans)
        return _unit(np.stack([rows[:, span].mean(axis=1) for span in spans]))


class _Linear(NamedTuple):
    weight: Rows  # [out, in]
    bias: Rows  # [out, 1]

    def of(self, rows: Rows) -> Rows:
        """Turn rows [in, tokens] into [out, tokens]."""
        out: Rows = self.weight @ rows
        out += self.bias
        return out


class _Norm(NamedTuple):
    weight: Rows  # [width, 1]
    bias: Rows
    eps: np.float32

    def of(self, rows: Rows) -> Rows:
        """Turn rows [width, tokens] into ones of mean 0 and variance 1, and scale them."""
        out: Rows = rows - rows.mean(axis=0)
        out /= np.sqrt((out * out).mean(axis=0) + self.eps)
        out *= self.weight
        out += self.bias
        return out


class _Weights:
    """Layers made of a file's tensors."""

    def __init__(self, tensors: dict[str, Array], eps: np.float32) -> None:
        self._tensors, self._eps = tensors, eps

    def named(self, name: str) -> Array:
        """Return a tensor in the precision that it has in the file. Raises LookupError."""
        return self._tensors[name]

    def linear(self, name: str) -> _Linear:
        return _Linear(self._float(f"{name}.weight"), self._float(f"{name}.bias")[:, None])

    def norm(self, name: str) -> _Norm:
        return _Norm(self._float(f"{name}.weight")[:, None], self._float(f"{name}.bias")[:, None], self._eps)

    def _float(self, name: str) -> Rows:
        return self.named(name).astype(np.float32, copy=False)


class _Layer:
    def __init__(self, weights: _Weights, name: str, heads: int) -> None:
        self._heads = heads
        self._query = weights.linear(f"{name}.attention.self.query")
        self._key = weights.linear(f"{name}.attention.self.key")
        self._value = weights.linear(f"{name}.attention.self.value")
        self._attended = weights.linear(f"{name}.attention.output.dense")
        self._attended_norm = weights.norm(f"{name}.attention.output.LayerNorm")
        self._inner = weights.linear(f"{name}.intermediate.dense")
        self._outer = weights.linear(f"{name}.output.dense")
        self._outer_norm = weights.norm(f"{name}.output.LayerNorm")

    def of(self, rows: Rows, spans: list[slice]) -> Rows:
        """Turn rows [width, tokens] into new ones; each of the `spans` of tokens is a text."""
        query, key, value = (read.of(rows) for read in (self._query, self._key, self._value))
        seen = np.empty_like(query)
        for span in spans:
            seen[:, span] = self._attention(query[:, span], key[:, span], value[:, span])
        rows = self._attended_norm.of(self._attended.of(seen) + rows)
        return self._outer_norm.of(self._outer.of(_gelu(self._inner.of(rows))) + rows)

    def _attention(self, query: Rows, key: Rows, value: Rows) -> Rows:
        """Return what one text's tokens, [width, tokens] each, see of each other."""
        query, key, value = (part.reshape(self._heads, -1, part.shape[1]) for part in (query, key, value))
        scores = key.transpose(0, 2, 1) @ (query / np.float32(math.sqrt(query.shape[1])))  # [heads, keys, queries]
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        seen: Rows = (value @ scores).reshape(-1, scores.shape[2])
        return seen


def _gelu(rows: Rows) -> Rows:
    """Return x Φ(x) = max(x, 0) - |x| Φ(-|x|), by the error function; `rows` are overwritten."""
    size = np.abs(rows)
    x = size * _ROOT_HALF
    t = 1 / (1 + _P * x)
    tail = _C[0] * t
    for c in _C[1:]:
        tail += c
        tail *= t
    tail *= np.exp(-x * x)
    np.maximum(rows, 0, out=rows)
    rows -= size * tail * _HALF
    return rows


def _blocks(texts: list[list[int]]) -> Iterator[list[list[int]]]:
    """Yield texts, in their order, of not much more than _BLOCK tokens at once."""
    block: list[list[int]] = []
    for text in texts:
        if block and sum(map(len, block)) + len(text) > _BLOCK:
            yield block
            block = []
        block.append(text)
    if block:
        yield block


def _unit(rows: Rows) -> Rows:
    unit: Rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-12))
    return unit
