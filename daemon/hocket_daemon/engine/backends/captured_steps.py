"""Decode steps on a GPU as captured graphs.

A step is computed for all of the first rows, as many as reach to the last one that is fed and a round number at that,
over as many keys as the longest of them has, again a round number: one graph for each such pair. A row that is not fed
writes one key behind its end, where nobody reads before something else is written there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from .graphs import Capture, bound, doubled
from .slots import Plan, RowSpan, Slots, unseen

MIN_ROWS, MIN_LENGTH = 8, 128


class Captive(NamedTuple):
    """What of a model is captured; `forward` gives logits [wanted, vocabulary] of ids [1, tokens] by a plan."""

    slots: Slots
    forward: Callable[[Tensor, Plan], Tensor]
    dtype: torch.dtype
    device: torch.device


class Fed(NamedTuple):
    """Tokens that are appended to a row, at least one."""

    row: int
    tokens: list[int]


class CapturedSteps:
    """The decode steps of a model, one token for each row that is fed."""

    def __init__(self, model: Captive, capture: Capture) -> None:
        """Captures every graph at once."""
        self._model, self._slots = model, model.slots
        self._rows = doubled(MIN_ROWS, len(model.slots.lengths))
        self._lengths = doubled(MIN_LENGTH, model.slots.context)
        # For each row: its token, where its key goes, and the last position that it sees.
        self._given = torch.zeros((3, len(model.slots.lengths)), dtype=torch.int64, device=model.device)
        shapes = [(rows, length) for rows in self._rows for length in self._lengths]
        self._replay = {shape: capture(partial(self._step, *shape)) for shape in shapes}

    def run(self, fed: Sequence[Fed]) -> Tensor:
        """Append one token to each row of `fed`; in their order, logits [rows, vocabulary] of what follows."""
        lengths = self._slots.lengths
        rows = bound(self._rows, max(each.row for each in fed) + 1)
        length = bound(self._lengths, max(lengths[each.row] for each in fed) + 1)
        tokens, seen = [0] * rows, [0] * rows
        for row, (token,) in fed:
            tokens[row], seen[row] = token, lengths[row]
        written = [min(each, self._slots.context - 1) for each in lengths[:rows]]  # none that decodes is that full
        self._given[:, :rows].copy_(torch.tensor([tokens, written, seen]))
        logits = self._replay[rows, length]()
        for each in fed:
            lengths[each.row] += 1
        return logits[torch.tensor([each.row for each in fed], device=logits.device)]

    def longest(self) -> None:
        """The step of all rows over all keys, as a measure."""
        self._replay[self._rows[-1], self._lengths[-1]]()

    def _step(self, rows: int, length: int) -> Tensor:
        tokens, written, seen = self._given[:, :rows]
        numbers = torch.arange(max(rows, length), device=tokens.device)
        hidden = numbers[:length] > seen[:, None]
        mask = unseen(hidden, self._model.dtype)
        run = RowSpan(slice(0, rows), rows, length, mask[:, None, None])
        slot_mapping = numbers[:rows] * self._slots.context + written
        return self._model.forward(tokens[None], Plan(slot_mapping, written[None], numbers[:rows], [run]))
