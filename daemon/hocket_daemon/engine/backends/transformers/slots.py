"""KV memory: preallocated rows with a length each, so that rolling back is setting an integer.

A transformers Cache whose layers write where the pass under way says. Knows nothing of sessions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor
from transformers import PretrainedConfig
from transformers.cache_utils import Cache, CacheLayerMixin

from hocket_retrieval.embedding.packed import rounded

from ...runtime.entry import KV
from ...segments import Segment
from ..rows import RowMemory


class RowSpan(NamedTuple):
    """Rows that get equally many tokens: attention takes them in one call, and neighbours where they lie."""

    rows: slice | Tensor
    tokens: int  # of all its rows; in the pass they follow those of the run before
    length: int  # keys of the longest row
    mask: Tensor | None  # [rows, 1, tokens, keys], added to the scores; None where everything is seen


class Plan(NamedTuple):
    """The plan of a forward pass: all tokens of all segments in a line, the last repeated up to a round number."""

    slot_mapping: Tensor  # [tokens]: where their keys and values go, counted over all rows
    positions: Tensor  # [1, tokens]
    behind: Tensor  # [wanted]: the tokens behind which something is wanted
    runs: list[RowSpan]


class SlotLayer(CacheLayerMixin):
    """Keys and values of one layer: [heads, slots, context, width], a row's keys for a head side by side."""

    def __init__(self, memory: Slots) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._memory = memory

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Allocate at the first write, when heads, widths, dtype and device are known. Raises BadConfiguration."""
        rows, context = len(self._memory.lengths), self._memory.context
        shapes = [(states.shape[1], rows, context, states.shape[3]) for states in (key_states, value_states)]
        self._memory.claim(sum(map(prod, shapes)) * key_states.itemsize)
        self.keys, self.values = (key_states.new_zeros(shape) for shape in shapes)
        self.is_initialized = True

    def update(
        self, key_states: Tensor, value_states: Tensor, *_args: object, **_kwargs: object
    ) -> tuple[Tensor, Tensor]:
        """Write [1, heads, tokens, width] by the plan; return all rows, not copied: [slots, heads, context, width]."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        keys, values = self._tensors()
        for memory, states in ((keys, key_states), (values, value_states)):
            memory.flatten(1, 2).index_copy_(1, self._memory.plan.slot_mapping, states[0])
        return keys.transpose(0, 1), values.transpose(0, 1)

    def copy_out(self, row: int, length: int) -> list[Tensor]:
        """Copies of a row's first `length` keys and values on the CPU, [heads, length, width] each."""
        return [states[:, row, :length].to("cpu", copy=True).contiguous() for states in self._tensors()]

    def copy_in(self, row: int, length: int, keys: Tensor, values: Tensor) -> None:
        """Put the first `length` of such keys and values at the beginning of a row."""
        for memory, states in zip(self._tensors(), (keys, values), strict=True):
            memory[:, row, :length] = states[:, :length].to(memory.device)

    def _tensors(self) -> tuple[Tensor, Tensor]:
        assert self.keys is not None
        assert self.values is not None
        return self.keys, self.values

    def get_seq_length(self) -> int:
        """Return 0: positions come with every call, so the cache itself claims none."""
        return 0

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Return sizes that nothing uses: every plan brings its own masks."""
        return query_length, 0

    def get_max_length(self) -> int:
        """Tokens a row can hold."""
        return self._memory.context


class Slots(RowMemory):
    """The rows of a transformers model, and the cache for its forward pass."""

    plan: Plan  # of the pass under way

    def __init__(self, config: PretrainedConfig, slots: int, context: int, max_bytes: int) -> None:
        """Create the rows; `max_bytes` is what all keys and values may take, 0 for any amount."""
        super().__init__(slots, context)
        self.bytes = 0
        self._max_bytes = max_bytes
        layers = int(config.get_text_config().num_hidden_layers)
        self._layers = [SlotLayer(self) for _ in range(layers)]
        self.cache = Cache(layers=list(self._layers))

    def claim(self, layer_bytes: int) -> None:
        """Count a layer's memory. Raises BadConfiguration, at the first, when all layers will take too much."""
        whole = layer_bytes * len(self._layers)
        self.check_bytes(whole, self._max_bytes)
        self.bytes += layer_bytes

    @torch.inference_mode()
    def copy_out(self, row: int, length: int) -> KV:
        """Copy the first `length` positions of a row."""
        states = [states for layer in self._layers for states in layer.copy_out(row, length)]
        dtype = str(states[0].dtype).removeprefix("torch.")
        return KV(dtype, [each.contiguous().view(torch.uint8).numpy() for each in states])

    @torch.inference_mode()
    def copy_in(self, row: int, kv: KV, length: int) -> bool:
        """Begin an empty row with the first `length` positions of what `copy_out` gave, which always fits."""
        states = [torch.from_numpy(each).view(getattr(torch, kv.dtype)) for each in kv.states]
        for layer, keys, values in zip(self._layers, states[::2], states[1::2], strict=True):
            layer.copy_in(row, length, keys, values)
        self.lengths[row] = length
        return True

    def plan_pass(
        self, segments: Sequence[Segment], places: Sequence[int], dtype: torch.dtype, device: torch.device
    ) -> Plan:
        """Lengthen the rows of `segments`, all different; return the plan of the pass that appends them.

        The pass gives logits after the tokens at `places`, counted over all segments in a line.
        """
        fed = [(row, len(ids)) for segment in segments for row, ids in zip(segment.rows, segment.tokens, strict=True)]
        placed = [(row, self.lengths[row] + at) for row, n in fed for at in range(n)]
        placed += [placed[-1]] * (rounded(len(placed)) - len(placed))
        positions = torch.tensor([position for _, position in placed])
        slot_mapping = torch.tensor([row * self.context + position for row, position in placed])
        behind = torch.tensor(places)
        mask = _mask(positions, max(position for _, position in placed) + 1, dtype).to(device)
        runs = list(self._runs(segments, mask))
        for row, n in fed:
            self.lengths[row] += n
        return Plan(slot_mapping.to(device), positions[None].to(device), behind.to(device), runs)

    def _runs(self, segments: Sequence[Segment], mask: Tensor) -> Iterator[RowSpan]:
        before = 0
        for segment in segments:
            for first, end in _neighbours(segment):
                width, rows = len(segment.tokens[first]), slice(segment.rows[first], segment.rows[first] + end - first)
                starts = self.lengths[rows]
                tokens, length = width * len(starts), max(starts) + width
                own = None  # everything is seen
                if width > 1 or min(starts) < max(starts):
                    own = mask[before : before + tokens, :length].view(len(starts), 1, width, length)
                yield RowSpan(rows, tokens, length, own)
                before += tokens


def _neighbours(segment: Segment) -> Iterator[tuple[int, int]]:
    """First and end of every stretch of neighbouring rows with equally many tokens."""
    first = 0
    for at in range(1, len(segment.rows) + 1):
        goes_on = at < len(segment.rows) and (
            segment.rows[at] == segment.rows[at - 1] + 1 and len(segment.tokens[at]) == len(segment.tokens[at - 1])
        )
        if not goes_on:
            yield first, at
            first = at


def _mask(positions: Tensor, length: int, dtype: torch.dtype) -> Tensor:
    """Return a mask [tokens, length] for all runs, to add to scores so that no token sees a later key."""
    return unseen(torch.arange(length) > positions[:, None], dtype)


def unseen(hidden: Tensor, dtype: torch.dtype) -> Tensor:
    """Return a mask to add to scores of this shape, so that the `hidden` ones count nothing."""
    return torch.zeros(hidden.shape, dtype=dtype, device=hidden.device).masked_fill_(hidden, float("-inf"))
