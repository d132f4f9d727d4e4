"""A small embedder in the form of the package that a real one comes in (packed_embedder.py), with weights by a seed."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

WIDTH, LAYERS, HEADS, INNER, POSITIONS, BLOCK = 32, 2, 4, 64, 24, 32
PIECES = [
    "<s>",
    "<pad>",
    "</s>",
    "<unk>",
    "▁",
    *"abcdefghijklmnopqrstuvwxyz:",
    "▁query",
    "▁passage",
    "▁the",
    "ing",
    "ü",
]
Floats = NDArray[np.float32]


def packed_file(width: int = WIDTH) -> bytes:
    """Head, tokenizer, map of characters, table of tensors, tensors."""
    tensors = _tensors(np.random.default_rng(0), width)
    head = b"E5S1" + struct.pack("<I", 1)
    head += struct.pack("<7ifi", width, LAYERS, HEADS, INNER, len(PIECES), POSITIONS, 2, 1e-12, BLOCK)
    texts = [piece.encode() for piece in PIECES]
    ends = np.cumsum([0, *map(len, texts)]).astype("<u4")
    scores = np.array([0.0] * 4 + [-float(2 + at % 5) for at in range(len(PIECES) - 4)], "<f4")
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, int(ends[-1]))
    head += ends.tobytes() + scores.tobytes() + b"".join(texts)
    head += struct.pack("<iI", 1, 9) + struct.pack("<IBI", 0x2460, 1, ord("1"))
    head += struct.pack("<i", len(tensors))
    table = sum(2 + len(name.encode()) + 21 for name in tensors)
    at, entries, data = len(head) + table, b"", b""
    for name, values in tensors.items():
        in_blocks = name.endswith((".w", "word")) and values.ndim > 1
        content = _in_blocks(values) if in_blocks else values.astype("<f4").tobytes()
        entries += struct.pack("<H", len(name)) + name.encode()
        entries += struct.pack("<BIQQ", in_blocks, values.size, at + len(data), len(content))
        data += content
    return head + entries + data


def in_four_bits(values: Floats) -> tuple[Floats, NDArray[np.uint8]]:
    """The scales of blocks of 32, and the weights in them plus 8."""
    blocks = values.reshape(-1, BLOCK)
    scales = (np.abs(blocks).max(axis=1) / 7).astype(np.float16).astype(np.float32)
    return scales, (np.round(blocks / scales[:, None]) + 8).clip(0, 15).astype(np.uint8)


def _in_blocks(values: Floats) -> bytes:
    scales, weights = in_four_bits(values)
    return b"".join(
        struct.pack("<e", scale) + (row[:16] | row[16:] << 4).tobytes()
        for scale, row in zip(scales.tolist(), weights, strict=True)
    )


def _tensors(drawn: np.random.Generator, width: int) -> dict[str, Floats]:
    def some(*shape: int) -> Floats:
        return drawn.normal(0.0, 0.3, shape).astype(np.float32)

    tensors = {"emb.word": some(len(PIECES), width), "emb.pos": some(POSITIONS * width), "emb.type": some(2 * width)}
    tensors |= {"emb.ln.w": 1 + some(width), "emb.ln.b": some(width)}
    for layer in range(LAYERS):
        for name, (rows, columns) in {
            **dict.fromkeys(("q", "k", "v", "ao"), (width, width)),
            "fi": (INNER, width),
            "fo": (width, INNER),
        }.items():
            tensors |= {f"l{layer}.{name}.w": some(rows, columns), f"l{layer}.{name}.b": some(rows)}
        for name in ("aln", "oln"):
            tensors |= {f"l{layer}.{name}.w": 1 + some(width), f"l{layer}.{name}.b": some(width)}
    return tensors
