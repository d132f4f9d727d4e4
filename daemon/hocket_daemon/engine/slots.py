"""KV memory: preallocated rows with a length each, so that rolling back is setting an integer.

A transformers Cache whose layers write at (row, position) and return the rows in play. Knows nothing of sessions.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PretrainedConfig
from transformers.cache_utils import Cache, CacheLayerMixin

from hocket_bus.errors import BadRequest, Busy

from .entry import KV


@dataclass(slots=True)
class Play:
    """The rows and positions of the forward pass under way; shared by all layers."""

    rows: slice
    positions: Tensor | None = None  # [rows, tokens]
    length: int = 0  # keys visible to the longest row


class SlotLayer(CacheLayerMixin):
    """Keys and values of one layer: [slots, heads, context + 1, width]; the last position takes padding."""

    def __init__(self, play: Play, slots: int, context: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._play = play
        self._slots = slots
        self._context = context

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Allocate at the first write, when heads, widths, dtype and device are known."""
        for name, states in (("keys", key_states), ("values", value_states)):
            _, heads, _, width = states.shape
            setattr(self, name, states.new_zeros(self._slots, heads, self._context + 1, width))
        self.is_initialized = True

    def update(
        self, key_states: Tensor, value_states: Tensor, *_args: object, **_kwargs: object
    ) -> tuple[Tensor, Tensor]:
        """Write [rows, heads, tokens, width] where the play says and return all visible keys and values, not copied."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        assert self.keys is not None
        assert self.values is not None
        play = self._play
        keys, values = self.keys[play.rows], self.values[play.rows]
        row = torch.arange(keys.shape[0], device=keys.device)[:, None]
        keys[row, :, play.positions] = key_states.transpose(1, 2)
        values[row, :, play.positions] = value_states.transpose(1, 2)
        return keys[:, :, : play.length], values[:, :, : play.length]

    def copy_out(self, row: int, length: int) -> list[Tensor]:
        """Copies of a row's first `length` keys and values on the CPU, [heads, length, width] each."""
        assert self.keys is not None
        assert self.values is not None
        return [states[row, :, :length].to("cpu", copy=True) for states in (self.keys, self.values)]

    def copy_in(self, row: int, length: int, keys: Tensor, values: Tensor, device: torch.device) -> None:
        """Put the first `length` of such keys and values at the beginning of a row."""
        if not self.is_initialized:
            self.lazy_initialization(keys[None].to(device), values[None].to(device))
        assert self.keys is not None
        assert self.values is not None
        self.keys[row, :, :length] = keys[:, :length].to(device)
        self.values[row, :, :length] = values[:, :length].to(device)

    def get_seq_length(self) -> int:
        """Positions come with every call, so the cache itself claims none."""
        return 0

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Unused: every call brings its own mask."""
        return max(self._play.length, query_length), 0

    def get_max_length(self) -> int:
        """Tokens a row can hold."""
        return self._context


class Slots:
    """The rows of one model: allocation in contiguous blocks, lengths, and the cache for the model's forward pass."""

    def __init__(self, config: PretrainedConfig, slots: int, context: int) -> None:
        self.context = context
        self.lengths = [0] * slots
        self._free = [True] * slots
        self._play = Play(slice(0, 0))
        layers = int(config.get_text_config().num_hidden_layers)
        self._layers = [SlotLayer(self._play, slots, context) for _ in range(layers)]
        self.cache = Cache(layers=list(self._layers))

    def take(self, rows: int) -> slice:
        """A free block of `rows` neighbouring rows, all empty. Raises Busy while there is none, BadRequest if never."""
        if rows > len(self._free):
            raise BadRequest(f"{rows} documents were asked for, the model has {len(self._free)} slots", "ask for fewer")
        for start in range(len(self._free) - rows + 1):
            if all(self._free[start : start + rows]):
                block = slice(start, start + rows)
                self._free[block] = [False] * rows
                self.lengths[block] = [0] * rows
                return block
        raise Busy("all slots of the model are taken", "try again shortly, or raise 'slots' in the configuration")

    def give_back(self, block: slice) -> None:
        """Free a block."""
        self._free[block] = [True] * (block.stop - block.start)

    @torch.inference_mode()
    def copy_out(self, row: int, length: int) -> KV:
        """The first `length` positions of a row."""
        return [states for layer in self._layers for states in layer.copy_out(row, length)]

    @torch.inference_mode()
    def copy_in(self, row: int, kv: KV, length: int, device: torch.device) -> None:
        """Begin an empty row with the first `length` positions of what `copy_out` gave, for a model on `device`."""
        for layer, keys, values in zip(self._layers, kv[::2], kv[1::2], strict=True):
            layer.copy_in(row, length, keys, values, device)
        self.lengths[row] = length

    def place(self, block: slice, counts: list[int], device: torch.device) -> tuple[Tensor, Tensor]:
        """Prepare a pass that appends `counts[i]` tokens to row i of `block`, right-padded to the longest.

        Returns position ids [rows, tokens] and the visibility mask [rows, 1, tokens, keys], True where seen.
        """
        width = max(counts)
        starts = torch.tensor(self.lengths[block], device=device)[:, None]
        offsets = torch.arange(width, device=device)[None]
        positions = starts + offsets
        real = offsets < torch.tensor(counts, device=device)[:, None]
        self._play.rows = block
        self._play.positions = torch.where(real, positions, self.context)
        self._play.length = max(length + count for length, count in zip(self.lengths[block], counts, strict=True))
        keys = torch.arange(self._play.length, device=device)
        mask = keys[None, None] <= positions[:, :, None]
        self.lengths[block] = [length + n for length, n in zip(self.lengths[block], counts, strict=True)]
        return torch.where(real, positions, 0), mask[:, None]
