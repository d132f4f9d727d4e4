"""The keys and values of one document as a file: read by mapping it, refused when anything in it is not as written.

magic and format (8 bytes) | CRC-32 of all that follows and of the key (4) | length of the header (4)
header: JSON with dtype and shapes, padded with blanks to a multiple of 64 bytes | numbers, one state after the other
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

FORMAT = 1
_MAGIC = b"hocktKV" + bytes([FORMAT])
_FIXED = len(_MAGIC) + 8
_ALIGNMENT = 64

ITEM_BYTES = {"uint8": 1, "float16": 2, "bfloat16": 2, "float32": 4}


@dataclass(frozen=True, slots=True, eq=False)
class KV:
    """Keys and values of each layer in turn: [heads, tokens, width in bytes], whose numbers are of `dtype`."""

    dtype: str
    states: list[NDArray[np.uint8]]

    @property
    def bytes(self) -> int:
        """The size of the keys and values, in bytes."""
        return sum(states.nbytes for states in self.states)


class Damaged(Exception):
    """An error raised for bytes that are not an entry of the given key."""


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    dtype: str
    shapes: list[tuple[int, int, int]]


def encode(key: bytes, kv: KV) -> list[bytes | memoryview]:
    """The parts of the file; memory is not copied where it is in one piece."""
    header = msgspec.json.encode(_Header(kv.dtype, [_shape(states, ITEM_BYTES[kv.dtype]) for states in kv.states]))
    header += b" " * (-(_FIXED + len(header)) % _ALIGNMENT)
    rest: list[bytes | memoryview] = [
        len(header).to_bytes(4, "big") + header,
        *(np.ascontiguousarray(states).reshape(-1).data for states in kv.states),
    ]
    return [_MAGIC + _checksum(key, rest), *rest]


def decode(key: bytes, file: NDArray[np.uint8], *, check: bool) -> KV:
    """Map a file's [bytes] keys and values, not copied; verify its checksum only with `check`. Raises Damaged."""
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
    if header.dtype not in ITEM_BYTES:
        raise Damaged("another number format")
    return KV(header.dtype, _states(file[body:], ITEM_BYTES[header.dtype], header.shapes))


def _states(data: NDArray[np.uint8], item_bytes: int, shapes: list[tuple[int, int, int]]) -> list[NDArray[np.uint8]]:
    ends = [0]
    for shape in shapes:
        ends.append(ends[-1] + math.prod(shape) * item_bytes)
    if len(data) != ends[-1]:
        raise Damaged("the length differs")
    parts = zip(pairwise(ends), shapes, strict=True)
    return [data[first:last].reshape(*shape[:2], shape[2] * item_bytes) for (first, last), shape in parts]


def _shape(states: NDArray[np.uint8], item_bytes: int) -> tuple[int, int, int]:
    heads, tokens, width = states.shape
    return heads, tokens, width // item_bytes


def _checksum(key: bytes, parts: list[bytes | memoryview]) -> bytes:
    value = zlib.crc32(key)
    for part in parts:
        value = zlib.crc32(part, value)
    return value.to_bytes(4, "big")
