"""The keys and values of one document as a file: read by mapping it, refused when anything in it is not as written.

magic and format (8 bytes) | CRC-32 of all that follows and of the key (4) | length of the header (4)
header: JSON with dtype and shapes, padded with blanks to a multiple of 64 bytes | tensors, one behind the other
"""

from __future__ import annotations

import math
import zlib
from itertools import pairwise
from typing import TypeAlias

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

FORMAT = 1
_MAGIC = b"hocktKV" + bytes([FORMAT])
_FIXED = len(_MAGIC) + 8
_ALIGNMENT = 64

KV: TypeAlias = list[Tensor]  # keys and values of each layer in turn: [heads, tokens, width], on the CPU


class Damaged(Exception):
    """These bytes are not an entry of this key."""


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    dtype: str
    shapes: list[tuple[int, int, int]]


def encode(key: bytes, kv: KV) -> list[bytes | memoryview]:
    """The parts of the file; the tensors' memory is not copied."""
    header = msgspec.json.encode(_Header(str(kv[0].dtype).removeprefix("torch."), [_shape(tensor) for tensor in kv]))
    header += b" " * (-(_FIXED + len(header)) % _ALIGNMENT)
    rest: list[bytes | memoryview] = [len(header).to_bytes(4, "big") + header, *(_bytes(tensor) for tensor in kv)]
    return [_MAGIC + _checksum(key, rest), *rest]


def decode(key: bytes, file: NDArray[np.uint8], *, check: bool) -> KV:
    """The tensors in a mapped file [bytes], not copied; without `check` its checksum is trusted. Raises Damaged."""
    start = bytes(file[:_FIXED])
    if start[:8] != _MAGIC:
        raise Damaged("another format")
    if check and _checksum(key, [file[12:].data]) != start[8:12]:
        raise Damaged("the checksum differs")
    body = _FIXED + int.from_bytes(start[12:], "big")
    try:
        header = msgspec.json.decode(bytes(file[_FIXED:body]), type=_Header)
    except msgspec.MsgspecError as error:
        raise Damaged(str(error)) from error
    return _tensors(torch.from_numpy(file[body:]), getattr(torch, header.dtype), header.shapes)


def _tensors(data: Tensor, dtype: torch.dtype, shapes: list[tuple[int, int, int]]) -> KV:
    ends = [0]
    for shape in shapes:
        ends.append(ends[-1] + math.prod(shape) * dtype.itemsize)
    if len(data) != ends[-1]:
        raise Damaged("the length differs")
    parts = zip(pairwise(ends), shapes, strict=True)
    return [data[first:last].view(dtype).view(shape) for (first, last), shape in parts]


def _shape(tensor: Tensor) -> tuple[int, int, int]:
    heads, tokens, width = tensor.shape
    return heads, tokens, width


def _bytes(tensor: Tensor) -> memoryview:
    return tensor.contiguous().flatten().view(torch.uint8).numpy().data


def _checksum(key: bytes, parts: list[bytes | memoryview]) -> bytes:
    value = zlib.crc32(key)
    for part in parts:
        value = zlib.crc32(part, value)
    return value.to_bytes(4, "big")
