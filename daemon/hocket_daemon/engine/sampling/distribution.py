"""A next-token distribution as it travels: the head of the vocabulary as integers with an exact sum.

Both sides aggregate these integers and a side drafts from what it encodes, so "exact" means the same bits everywhere.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from math import exp

import lz4.block
import numpy as np
from numpy.typing import NDArray

from hocket_bus.errors import BadMessage

MAX_IDS = 32_768
VOCABULARY_LIMIT = 1 << 18
COUNTS_PER_ID = 2_048
MAX_COUNT = COUNTS_PER_ID * MAX_IDS
_TWO_BYTES = 65_535
_LIKELY = 64.0  # times the floor that surely suffices: tried first, since far fewer ids lie above
_COMPRESS_FROM_BYTES = 256
_HEADER = struct.Struct("!BHf")  # flags, number of ids, kept mass
_PACKED = 16  # above two bits each for the bytes of an id and of a count, less one


@dataclass(frozen=True, eq=False)
class Distribution:
    """A distribution, p(ids[i]) = counts[i] / counts.sum(); ids ascend; `kept` is their share of the full one.

    `probabilities` are those of `ids`, in their shape, summing to 1.
    """

    ids: NDArray[np.int64]
    counts: NDArray[np.int64]
    kept: float
    probabilities: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "probabilities", self.counts / np.float64(self.counts.sum()))

    def place(self, token: int) -> int | None:
        """Return the index of `token` in `ids`; None where it is not there."""
        at = int(self.ids.searchsorted(token))
        return at if at < len(self.ids) and self.ids[at] == token else None

    def of(self, token: int) -> float:
        """The probability of `token`."""
        at = self.place(token)
        return 0.0 if at is None else float(self.probabilities[at])


def truncate(
    probabilities: NDArray[np.floating], wire_mass: float, ids: NDArray[np.integer] | None = None
) -> Distribution:
    """The smallest set of ids with at least `wire_mass` of the mass, the crossing id included, at most MAX_IDS.

    `probabilities` has shape [vocabulary] and sums to 1; or that of `ids`, which ascend, and to less: where that is
    less than `wire_mass`, all of them are taken. Their mass is counted in float64. Ties go to the lowest id.
    """
    return truncated(probabilities, wire_mass, ids)[0]


def truncated(
    probabilities: NDArray[np.floating], wire_mass: float, ids: NDArray[np.integer] | None = None
) -> tuple[Distribution, NDArray[np.int64]]:
    """Return the result of `truncate`, and the indices of its ids in `probabilities`."""
    candidates, values = _candidates(probabilities, wire_mass, whole=ids is None)
    highest = values if len(values) <= MAX_IDS else np.partition(values, -MAX_IDS)[-MAX_IDS:]
    falling = np.sort(highest)[::-1]
    size = min(int(falling.cumsum(dtype=np.float64).searchsorted(wire_mass)) + 1, len(falling))
    inside = (values >= falling[size - 1]).nonzero()[0]
    if surplus := len(inside) - size:
        tied = np.flatnonzero(values[inside] == falling[size - 1])
        inside = np.delete(inside, tied[-surplus:])
    heads = values[inside].astype(np.float64)
    kept = float(heads.sum())
    places = inside if candidates is None else candidates[inside]
    taken = places if ids is None else ids[places].astype(np.int64)
    return Distribution(taken, _counts(heads / kept), float(np.float32(min(1.0, kept)))), places


def _candidates(
    probabilities: NDArray[np.floating], wire_mass: float, *, whole: bool
) -> tuple[NDArray[np.int64] | None, NDArray[np.floating]]:
    """Return places above a floor that hold the mass, and their values: sorting few costs far less than sorting all.

    A part of a vocabulary is few already, and may not hold the mass; None stands for all places.
    """
    if not whole:
        if np.count_nonzero(probabilities) == len(probabilities):
            return None, probabilities
        places = probabilities.nonzero()[0]
        return places, probabilities[places]
    # All ids at or below `safe` hold less than 1 - wire_mass.
    safe = (1.0 - wire_mass) / (len(probabilities) + 1)
    floor = _LIKELY * safe
    while True:
        ids = (probabilities > floor).nonzero()[0]
        values = probabilities[ids]
        missing = wire_mass - float(values.sum(dtype=np.float64))
        if missing < 0 or floor <= safe:
            return ids, values
        floor = max(safe, _lower(floor, len(ids), missing))


def _lower(floor: float, above: int, missing: float) -> float:
    """A floor that likely lets in what is missing.

    Of a tail c / rank, which is Zipf's, c = floor · above, and c · log(floor / lower) is the mass in between.
    """
    return floor * min(0.5, 0.9 * exp(-missing / (floor * above))) if above else 0.0


def _counts(p: NDArray[np.float64]) -> NDArray[np.int64]:
    """Integers for `p`: as many as two bytes hold, but COUNTS_PER_ID for each id at least.

    They change p by less than 1/2047 in total variation: with counts c = s p + e of sum C = s + E, |e| < 1 for each of
    n ids, it is sum |c/C - p| / 2 = sum |e - p E| / 2C <= sum |e| / C < n / C, and C >= s - n/2 with s >= 2048 n.
    """
    scale = max(_TWO_BYTES / float(p.max()), float(COUNTS_PER_ID * len(p)))
    return np.maximum(1, np.rint(p * scale)).astype(np.int64)


def encode(distribution: Distribution) -> bytes:
    """The bytes of a distribution; `decode` is its inverse for every id below 2^18."""
    steps = distribution.ids.copy()
    steps[1:] -= distribution.ids[:-1]
    id_bytes, count_bytes = _width(steps), _width(distribution.counts)
    body = _planes(steps, id_bytes) + _planes(distribution.counts, count_bytes)
    flags = id_bytes - 1 | count_bytes - 1 << 2
    packed = lz4.block.compress(body, store_size=False) if len(body) >= _COMPRESS_FROM_BYTES else body
    if len(packed) < len(body):
        return _HEADER.pack(flags | _PACKED, len(steps), distribution.kept) + packed
    return _HEADER.pack(flags, len(steps), distribution.kept) + body


def decode(data: bytes) -> Distribution:
    """The distribution in `data`. Raises BadMessage unless it is well-formed."""
    if len(data) < _HEADER.size:
        raise BadMessage("a distribution without header")
    flags, number, kept = _HEADER.unpack_from(data)
    if not 0 < number <= MAX_IDS or flags >= 2 * _PACKED or not 0 < kept <= 1:
        raise BadMessage("a distribution with a bad header")
    id_bytes, count_bytes = (flags & 3) + 1, (flags >> 2 & 3) + 1
    body = _body(data[_HEADER.size :], number * (id_bytes + count_bytes), bool(flags & _PACKED))
    steps, counts = _joined(body[: number * id_bytes], id_bytes), _joined(body[number * id_bytes :], count_bytes)
    ids = steps.cumsum()
    positive = np.count_nonzero(steps[1:]) == number - 1 and np.count_nonzero(counts) == number
    within = ids[-1] < VOCABULARY_LIMIT and (count_bytes < 4 or counts.max() <= MAX_COUNT)  # three bytes hold no more
    if not (positive and within):
        raise BadMessage("a distribution with ids or counts out of order")
    return Distribution(ids, counts, float(kept))


def _width(values: NDArray[np.int64]) -> int:
    """Bytes that the largest of `values` takes, 1 to 4."""
    return max(1, (int(values.max()).bit_length() + 7) // 8)


def _planes(values: NDArray[np.int64], width: int) -> bytes:
    """The highest byte of all values, then the next: high ones are mostly alike, which LZ4 finds only side by side."""
    rows = values.astype("<u4").tobytes()
    return b"".join(rows[column::4] for column in reversed(range(width)))


def _joined(planes: bytes, width: int) -> NDArray[np.int64]:
    """The inverse of `_planes`."""
    number = len(planes) // width
    rows = bytearray(4 * number)
    for plane in range(width):
        rows[width - 1 - plane :: 4] = planes[plane * number : (plane + 1) * number]
    return np.frombuffer(rows, dtype="<u4").astype(np.int64)


def _body(data: bytes, expected_bytes: int, packed: bool) -> bytes:
    if packed:
        try:
            data = lz4.block.decompress(data, uncompressed_size=expected_bytes)
        except (lz4.block.LZ4BlockError, ValueError) as error:
            raise BadMessage(f"a distribution that does not decompress: {error}") from error
    if len(data) != expected_bytes:
        raise BadMessage("a distribution of the wrong length")
    return data
