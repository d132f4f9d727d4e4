"""A sentence-transformers folder with a BERT in it: its settings, its weights, and a digest of both.

Importing sentence-transformers takes four times the time and twice the memory of torch, in each daemon, at each start.
"""

from __future__ import annotations

import hashlib
import mmap
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from tokenizers import Tokenizer

T = TypeVar("T")
Array = NDArray[np.float32 | np.float16 | np.int64]
_TYPES = ["Transformer", "Pooling", "Normalize"]
_TO_CENTRE = ["Dense", "Normalize"]  # behind these
_WEIGHTS, _TOKENIZER = "model.safetensors", "tokenizer.json"
_PREFIX, _BUFFER = "0.model.", "embeddings.position_ids"  # of names there; what is no weight
_SETTINGS, _PROMPTS = "sentence_bert_config.json", "config_sentence_transformers.json"
_TYPED = {"F32": np.float32, "F16": np.float16, "I64": np.int64}
_BFLOAT16 = "BF16"  # which numpy lacks


class Shape(Struct):
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

    prompts: dict[str, str | None] = {}


class _Module(Struct):
    """An entry of modules.json."""

    type: str
    path: str


class _Dense(Struct):
    """config.json of a linear layer, which has a bias."""

    activation_function: Literal["torch.nn.modules.linear.Identity"]
    bias: Literal[True] = True


class _Tensor(Struct):
    """An entry of the head of a file of weights."""

    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


class BertFolder(NamedTuple):
    """The settings of a BERT. `dense` is the folder of the linear layer after the mean, None without one."""

    folder: Path
    shape: Shape
    prompts: dict[str, str | None]
    length: int  # of a text in tokens, at most
    dense: Path | None

    @property
    def weights(self) -> Path:
        """Return the file of the BERT's weights."""
        return self.folder / _WEIGHTS

    @property
    def dense_weights(self) -> Path | None:
        """Return the file of the linear layer's weights."""
        return None if self.dense is None else self.dense / _WEIGHTS

    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer, which cuts a text that is too long."""
        tokenizer: Tokenizer = Tokenizer.from_file(str(self.folder / _TOKENIZER))
        tokenizer.enable_truncation(self.length)
        tokenizer.no_padding()
        return tokenizer

    def digest(self) -> str:
        """Return a digest of the weights and the text limit, made as for any model that sentence-transformers reads."""
        sha = hashlib.sha256(str(self.length).encode())
        for file, prefix in ((self.weights, _PREFIX), (self.dense_weights, f"{len(_TYPES)}.")):
            if file is not None:
                _add_weights(sha, file, prefix)
        return sha.hexdigest()[:16]


def is_bert(folder: Path) -> bool:
    """Tell whether a folder holds a BERT, the mean of its tokens, perhaps a linear layer behind it, and no more."""
    try:
        read_folder(folder)
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


def read_folder(folder: Path) -> BertFolder:
    """Read a folder's settings. Raises what reading and parsing files raise."""
    return BertFolder(
        folder,
        _parsed(folder, "config.json", Shape),
        _parsed(folder, _PROMPTS, _Prompts).prompts,
        _parsed(folder, _SETTINGS, _Settings).max_seq_length,
        _dense(folder),
    )


def mapped(file: Path) -> dict[str, Array]:
    """Return the tensors of a file of weights, by name. Processes that map one file share its memory.

    Those of float32, float16 and int64 lie in the mapped file; bfloat16 is turned into float32. Raises OSError, and
    ValueError for other formats and what is no such file.
    """
    with file.open("rb") as opened:
        data = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    first = 8 + int.from_bytes(data[:8], "little")
    head = msgspec.json.decode(data[8:first], type=dict[str, dict[str, object]])
    entries = {name: msgspec.convert(entry, _Tensor) for name, entry in head.items() if name != "__metadata__"}
    return {name: _tensor(data, first, entry) for name, entry in entries.items()}


def _tensor(data: mmap.mmap, first: int, entry: _Tensor) -> Array:
    start, end = entry.data_offsets
    if entry.dtype == _BFLOAT16:
        halves = np.frombuffer(data, np.uint16, (end - start) // 2, first + start)
        return (halves.astype(np.uint32) << 16).view(np.float32).reshape(entry.shape)
    if entry.dtype not in _TYPED:
        raise ValueError(f"weights of {entry.dtype}")
    typed = np.dtype(_TYPED[entry.dtype])
    values: Array = np.frombuffer(data, typed, (end - start) // typed.itemsize, first + start).reshape(entry.shape)
    return values


def _dense(folder: Path) -> Path | None:
    modules = _parsed(folder, "modules.json", list[_Module])
    return folder / modules[len(_TYPES)].path if len(modules) > len(_TYPES) else None


def _add_weights(sha: hashlib._Hash, file: Path, prefix: str) -> None:
    for name, tensor in sorted(mapped(file).items()):  # apart from the model: what is read here is not kept in memory
        if name != _BUFFER:
            sha.update(f"{prefix}{name}".encode())
            sha.update(np.ascontiguousarray(tensor, np.float32).data)


def _parsed(folder: Path, name: str, type: type[T]) -> T:
    return msgspec.json.decode((folder / name).read_bytes(), type=type)
