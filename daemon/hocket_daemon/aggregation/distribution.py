"""A next-token distribution as it travels: the head of the vocabulary as integers with an exact sum.

Both sides aggregate these integers and a side drafts from what it encodes, so "exact" means the same bits everywhere.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import lz4.block
import numpy as np
from numpy.typing import NDArray

from hocket_bus.errors import BadMessage

MAX_IDS = 32_768
VOCABULARY_LIMIT = 1 << 18
SCALE = 1 << 24
_COMPRESS_FROM_BYTES = 512
_HEADER = struct.Struct("!BBIf")  # flags, reserved, number of ids, kept mass
_WIDE, _PACKED = 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """p(ids[i]) = counts[i] / counts.sum(); ids ascend. `kept` is the share of the full distribution these ids held."""

    ids: NDArray[np.int64]
    counts: NDArray[np.int64]
    kept: float

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Shape of `ids`, summing to 1."""
        return self.counts / np.float64(self.counts.sum())


def truncate(probabilities: NDArray[np.float64], wire_mass: float) -> Distribution:
    """The smallest set of ids with at least `wire_mass` of the mass, the crossing id included, at most MAX_IDS.

    `probabilities` has shape [vocabulary] and sums to 1. Ties go to the lowest id.
    """
    candidates = _candidates(probabilities, wire_mass)
    order = candidates[np.argsort(-probabilities[candidates], kind="stable")][:MAX_IDS]
    mass = np.cumsum(probabilities[order])
    head = order[: int(np.searchsorted(mass, wire_mass)) + 1]
    kept = float(probabilities[head].sum())
    ids = np.sort(head).astype(np.int64)
    counts = np.maximum(1, np.rint(probabilities[ids] * (SCALE / kept))).astype(np.int64)
    return Distribution(ids, counts, float(np.float32(min(1.0, kept))))


def _candidates(probabilities: NDArray[np.float64], wire_mass: float) -> NDArray[np.int64]:
    """Ids above a threshold that together hold the mass: sorting these few costs far less than sorting all."""
    largest = float(probabilities.max())
    for factor in (1e-3, 1e-5):
        candidates = np.flatnonzero(probabilities >= largest * factor)
        if probabilities[candidates].sum() >= wire_mass:
            return candidates
    return np.flatnonzero(probabilities > 0)


def encode(distribution: Distribution) -> bytes:
    """The bytes of a distribution; `decode` is its inverse for every id below 2^18."""
    steps = np.diff(distribution.ids, prepend=0)
    wide = _WIDE if int(steps.max()) >= 1 << 16 else 0
    ids = steps.astype(">u4" if wide else ">u2").tobytes()
    body = ids + distribution.counts.astype(">u4").tobytes()
    packed = lz4.block.compress(body, store_size=False) if len(body) >= _COMPRESS_FROM_BYTES else body
    if len(packed) >= len(body):
        return _HEADER.pack(wide, 0, len(steps), distribution.kept) + body
    return _HEADER.pack(wide | _PACKED, 0, len(steps), distribution.kept) + packed


def decode(data: bytes) -> Distribution:
    """The distribution in `data`. Raises BadMessage unless it is one that `encode` could have written."""
    if len(data) < _HEADER.size:
        raise BadMessage("a distribution without header")
    flags, reserved, number, kept = _HEADER.unpack_from(data)
    if not 0 < number <= MAX_IDS or flags & ~(_WIDE | _PACKED) or reserved or not 0 < kept <= 1:
        raise BadMessage("a distribution with a bad header")
    id_bytes = number * (4 if flags & _WIDE else 2)
    body = _body(data[_HEADER.size :], id_bytes + number * 4, bool(flags & _PACKED))
    ids = np.cumsum(np.frombuffer(body[:id_bytes], dtype=">u4" if flags & _WIDE else ">u2").astype(np.int64))
    counts = np.frombuffer(body[id_bytes:], dtype=">u4").astype(np.int64)
    if ids[-1] >= VOCABULARY_LIMIT or np.any(np.diff(ids) <= 0) or np.any(counts < 1) or np.any(counts > 2 * SCALE):
        raise BadMessage("a distribution with ids or counts out of order")
    return Distribution(ids, counts, float(kept))


def _body(data: bytes, expected_bytes: int, packed: bool) -> bytes:
    if packed:
        try:
            data = lz4.block.decompress(data, uncompressed_size=expected_bytes)
        except (lz4.block.LZ4BlockError, ValueError) as error:
            raise BadMessage(f"a distribution that does not decompress: {error}") from error
    if len(data) != expected_bytes:
        raise BadMessage("a distribution of the wrong length")
    return data
