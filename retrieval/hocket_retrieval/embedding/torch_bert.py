"""A BERT read by torch, for many texts at once: in bfloat16, or on an accelerator, where there is one.

Loaded in a process of its own, bulk_worker.py; bert.py reads a few texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import torch
from safetensors import safe_open
from torch import Tensor, nn
from torch.nn import functional

from .bert_folder import read_folder

L = TypeVar("L", nn.Linear, nn.LayerNorm)


class TorchBert(nn.Module):
    """A BERT that maps token ids [texts, tokens] to vectors [texts, width], the means over each text's tokens.

    A linear layer after it, where there is one, takes means of length 1.
    """

    def __init__(self, folder: Path) -> None:
        """Load the model from a folder. Raises what reading and parsing files raise."""
        super().__init__()
        read = read_folder(folder)
        shape = read.shape
        with safe_open(read.weights, "pt") as file:
            weights = _Weights(file, shape.layer_norm_eps)
            self.words = weights.embedding("embeddings.word_embeddings")
            self.positions = weights.embedding("embeddings.position_embeddings")
            self.types = weights.embedding("embeddings.token_type_embeddings")
            self.norm = weights.norm("embeddings.LayerNorm")
            layers, heads = shape.num_hidden_layers, shape.num_attention_heads
            self.layers = nn.ModuleList(_Layer(weights, f"encoder.layer.{at}", heads) for at in range(layers))
        self.dense = None if read.dense_weights is None else _read_dense(read.dense_weights, shape.layer_norm_eps)
        here = torch.accelerator.current_accelerator(check_available=True)  # else the one that torch was built for
        self.to(here or "cpu").eval()
        self.dimension = self.words.embedding_dim
        self._tokenizer = read.tokenizer()
        self._tokenizer.enable_padding(pad_id=shape.pad_token_id)

    @property
    def device(self) -> torch.device:
        """Return the device that it computes on."""
        return self.words.weight.device

    def preprocess(self, texts: Sequence[str]) -> dict[str, Tensor]:
        """Return the tensors that `forward` takes, each [texts, tokens]."""
        read = self._tokenizer.encode_batch([text.strip() for text in texts])
        ids, seen = [each.ids for each in read], [each.attention_mask for each in read]
        return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(seen)}

    def forward(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """Turn tokens [texts, tokens] into vectors [texts, width]."""
        ids, seen = tokens["input_ids"], tokens["attention_mask"]
        places = torch.arange(ids.shape[1], device=ids.device)
        rows = self.norm(self.words(ids) + self.types(torch.zeros_like(ids)) + self.positions(places))
        mask = seen[:, None, None, :].bool()
        for layer in self.layers:
            rows = layer(rows, mask)
        weight = seen[:, :, None].to(rows.dtype)
        mean: Tensor = (rows * weight).sum(1) / weight.sum(1)
        return mean if self.dense is None else self.dense(functional.normalize(mean, dim=1))


class _Layer(nn.Module):
    def __init__(self, weights: _Weights, name: str, heads: int) -> None:
        super().__init__()
        self._heads = heads
        self.query = weights.linear(f"{name}.attention.self.query")
        self.key = weights.linear(f"{name}.attention.self.key")
        self.value = weights.linear(f"{name}.attention.self.value")
        self.attended = weights.linear(f"{name}.attention.output.dense")
        self.attended_norm = weights.norm(f"{name}.attention.output.LayerNorm")
        self.inner = weights.linear(f"{name}.intermediate.dense")
        self.outer = weights.linear(f"{name}.output.dense")
        self.outer_norm = weights.norm(f"{name}.output.LayerNorm")

    def forward(self, rows: Tensor, mask: Tensor) -> Tensor:
        """Turn rows [texts, tokens, width] into new ones; `mask` [texts, 1, 1, tokens] says what is attended to."""
        query, key, value = (self._by_head(read(rows)) for read in (self.query, self.key, self.value))
        heads = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        rows = self.attended_norm(self.attended(heads.transpose(1, 2).flatten(2)) + rows)
        out: Tensor = self.outer_norm(self.outer(functional.gelu(self.inner(rows))) + rows)
        return out

    def _by_head(self, rows: Tensor) -> Tensor:
        """Turn rows [texts, tokens, width] into [texts, heads, tokens, width of a head]."""
        heads: Tensor = rows.unflatten(2, (self._heads, -1)).transpose(1, 2)
        return heads


class _Weights:
    """Layers made of a file's weights."""

    def __init__(self, file: safe_open, eps: float) -> None:
        self._file, self._eps = file, eps

    def embedding(self, name: str) -> nn.Embedding:
        """Return an embedding layer of the precision that its rows have in the file; few of them are read."""
        rows: Tensor = self._file.get_tensor(f"{name}.weight")  # type: ignore[no-untyped-call]
        layer: nn.Embedding = nn.Embedding.from_pretrained(rows)
        return layer

    def linear(self, name: str) -> nn.Linear:
        return self._filled(nn.Linear(1, 1), name)

    def norm(self, name: str) -> nn.LayerNorm:
        width = self._weight(f"{name}.bias").shape
        return self._filled(nn.LayerNorm(list(width), self._eps), name)

    def _filled(self, layer: L, name: str) -> L:
        layer.weight, layer.bias = self._weight(f"{name}.weight"), self._weight(f"{name}.bias")
        return layer

    def _weight(self, name: str) -> nn.Parameter:
        weight: Tensor = self._file.get_tensor(name)  # type: ignore[no-untyped-call]
        return nn.Parameter(weight.float(), requires_grad=False)


def _read_dense(file: Path, eps: float) -> nn.Linear:
    with safe_open(file, "pt") as opened:
        return _Weights(opened, eps).linear("linear")
