"""A sentence-transformers folder with a BERT in it, read by torch alone.

Importing sentence-transformers takes four times the time and twice the memory of torch, in each daemon, at each start.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
import torch
from msgspec import Struct
from safetensors import safe_open
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

T = TypeVar("T")
L = TypeVar("L", nn.Linear, nn.LayerNorm)
_TYPES = ["Transformer", "Pooling", "Normalize"]
_TO_CENTRE = ["Dense", "Normalize"]  # behind these
_WEIGHTS, _TOKENIZER = "model.safetensors", "tokenizer.json"
_PREFIX, _BUFFER = "0.model.", "embeddings.position_ids"  # of names there; what is no weight
_SETTINGS, _PROMPTS = "sentence_bert_config.json", "config_sentence_transformers.json"


class _Shape(Struct):
    """The fields of config.json that are read here."""

    model_type: Literal["bert"]
    hidden_act: Literal["gelu"]
    num_hidden_layers: int
    num_attention_heads: int
    layer_norm_eps: float
    pad_token_id: int
    position_embedding_type: Literal["absolute"] = "absolute"


class _Settings(Struct):
    """sentence_bert_config.json."""

    max_seq_length: int
    do_lower_case: bool = False


class _Prompts(Struct):
    """config_sentence_transformers.json."""

    prompts: dict[str, str] = {}


class _Module(Struct):
    """An entry of modules.json."""

    type: str
    path: str


class _Dense(Struct):
    """config.json of a linear layer, which has a bias."""

    activation_function: Literal["torch.nn.modules.linear.Identity"]
    bias: Literal[True] = True


def is_bert(folder: Path) -> bool:
    """Tell whether a folder holds what this reads: a BERT, the mean of its tokens, perhaps a linear layer, no more."""
    try:
        _parsed(folder, "config.json", _Shape)
        _parsed(folder, _PROMPTS, _Prompts)
        lowers = _parsed(folder, _SETTINGS, _Settings).do_lower_case
        modules = _parsed(folder, "modules.json", list[_Module])
        pooling = _parsed(folder, f"{modules[1].path}/config.json", dict[str, object])
        if dense := _dense(folder):
            _parsed(dense, "config.json", _Dense)
    except (OSError, ValueError, LookupError):
        return False
    ways = {key for key, used in pooling.items() if key.startswith("pooling_mode_") and used is True}
    return (
        [module.type.rpartition(".")[2] for module in modules] == (_TYPES + _TO_CENTRE if dense else _TYPES)
        and modules[0].path == ""
        and ways == {"pooling_mode_mean_tokens"}
        and not lowers
        and all((folder / name).is_file() for name in (_WEIGHTS, _TOKENIZER))
        and (dense is None or (dense / _WEIGHTS).is_file())
    )


class Bert(nn.Module):
    """A BERT that maps token ids [texts, tokens] to vectors [texts, width], the means over each text's tokens.

    A linear layer after it, where there is one, takes means of length 1.
    """

    def __init__(self, folder: Path) -> None:
        """Load the model from a folder. Raises what reading and parsing files raise."""
        super().__init__()
        shape = _parsed(folder, "config.json", _Shape)
        self.prompts = _parsed(folder, _PROMPTS, _Prompts).prompts
        with safe_open(folder / _WEIGHTS, "pt") as file:
            weights = _Weights(file, shape.layer_norm_eps)
            self.words = weights.embedding("embeddings.word_embeddings")
            self.positions = weights.embedding("embeddings.position_embeddings")
            self.types = weights.embedding("embeddings.token_type_embeddings")
            self.norm = weights.norm("embeddings.LayerNorm")
            layers, heads = shape.num_hidden_layers, shape.num_attention_heads
            self.layers = nn.ModuleList(_Layer(weights, f"encoder.layer.{at}", heads) for at in range(layers))
        self.dense = _read_dense(folder, shape.layer_norm_eps)
        here = torch.accelerator.current_accelerator(check_available=True)  # else the one that torch was built for
        self.to(here or "cpu").eval()
        self.dimension = self.words.embedding_dim
        self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        length = _parsed(folder, _SETTINGS, _Settings).max_seq_length
        self._tokenizer.enable_truncation(length)
        self._tokenizer.enable_padding(pad_id=shape.pad_token_id)
        self.digest = _digest(folder, length)

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


def _dense(folder: Path) -> Path | None:
    """Return the folder of the linear layer after the mean; None where there is none."""
    modules = _parsed(folder, "modules.json", list[_Module])
    return folder / modules[len(_TYPES)].path if len(modules) > len(_TYPES) else None


def _read_dense(folder: Path, eps: float) -> nn.Linear | None:
    if (dense := _dense(folder)) is None:
        return None
    with safe_open(dense / _WEIGHTS, "pt") as file:
        return _Weights(file, eps).linear("linear")


def _digest(folder: Path, length: int) -> str:
    """Return a digest of the weights and the text limit, made as for any model that sentence-transformers reads."""
    sha = hashlib.sha256(str(length).encode())
    for place, prefix in ((folder, _PREFIX), (_dense(folder), f"{len(_TYPES)}.")):
        if place is not None:
            _add_weights(sha, place, prefix)
    return sha.hexdigest()[:16]


def _add_weights(sha: hashlib._Hash, folder: Path, prefix: str) -> None:
    with safe_open(folder / _WEIGHTS, "pt") as file:  # apart from the model: what is read here is not kept in memory
        for name in sorted(file.keys()):
            if name != _BUFFER:
                sha.update(f"{prefix}{name}".encode())
                sha.update(file.get_tensor(name).float().contiguous().numpy().data)


def _parsed(folder: Path, name: str, type: type[T]) -> T:
    return msgspec.json.decode((folder / name).read_bytes(), type=type)
