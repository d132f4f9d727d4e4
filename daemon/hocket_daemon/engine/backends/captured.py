"""Decode steps on a GPU as captured graphs: what hundreds of launches cost is paid once, not at every step.

A graph has fixed shapes. So a step is computed for all of the first rows, as many as reach to the last one that is fed
and a round number at that, over as many keys as the longest of them has, again a round number: one graph for each such
pair. A row that is not fed writes one key behind its end, where nobody reads before something else is written there.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import torch
from torch import Tensor

from ..segments import Segment
from .slots import Plan, RowSpan, Slots

MIN_ROWS, MIN_LENGTH = 8, 128
Step: TypeAlias = Callable[[], Tensor]
Forward: TypeAlias = Callable[[Tensor, Plan], Tensor]


class CapturedSteps:
    """The decode steps of a model, one token for each row that is fed."""

    def __init__(
        self, slots: Slots, forward: Forward, dtype: torch.dtype, device: torch.device, capture: Callable[[Step], Step]
    ) -> None:
        """Captures every graph at once. `forward` gives logits [rows, vocabulary] of ids [1, tokens] by a plan."""
        self._slots = slots
        self._forward = forward
        self._dtype = dtype
        self._rows = _doubled(MIN_ROWS, len(slots.lengths))
        self._lengths = _doubled(MIN_LENGTH, slots.context)
        # For each row: its token, where its key goes, and the last position that it sees.
        self._given = torch.zeros((3, len(slots.lengths)), dtype=torch.int64, device=device)
        shapes = [(rows, length) for rows in self._rows for length in self._lengths]
        self._replay = {shape: capture(partial(self._step, *shape)) for shape in shapes}

    def fits(self, segments: Sequence[Segment]) -> bool:
        """Whether every row that is fed gets one token."""
        return all(len(ids) == 1 for segment in segments for ids in segment.tokens)

    def run(self, segments: Sequence[Segment]) -> Tensor:
        """Append one token to each row of `segments`; in their order, logits [rows, vocabulary] of what follows."""
        fed = [row for segment in segments for row in segment.rows]
        lengths = self._slots.lengths
        rows = _bound(self._rows, max(fed) + 1)
        length = _bound(self._lengths, max(lengths[row] for row in fed) + 1)
        tokens, seen = [0] * rows, [0] * rows
        for row, (token,) in zip(fed, (ids for segment in segments for ids in segment.tokens), strict=True):
            tokens[row], seen[row] = token, lengths[row]
        written = [min(each, self._slots.context - 1) for each in lengths[:rows]]  # none that decodes is that full
        self._given[:, :rows].copy_(torch.tensor([tokens, written, seen]))
        logits = self._replay[rows, length]()
        for row in fed:
            lengths[row] += 1
        return logits[torch.tensor(fed, device=logits.device)]

    def _step(self, rows: int, length: int) -> Tensor:
        tokens, written, seen = self._given[:, :rows]
        numbers = torch.arange(max(rows, length), device=tokens.device)
        hidden = numbers[:length] > seen[:, None]
        mask = torch.zeros(hidden.shape, dtype=self._dtype, device=tokens.device).masked_fill_(hidden, float("-inf"))
        run = RowSpan(slice(0, rows), rows, length, mask[:, None, None])
        slot_mapping = numbers[:rows] * self._slots.context + written
        return self._forward(tokens[None], Plan(slot_mapping, written[None], numbers[:rows], [run]))


def cuda_graph(step: Step) -> Step:
    """Capture what `step` launches; every call of what is returned launches it again, into the same tensors."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # libraries set themselves up at a first call, which no graph may hold
        step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = step()

    def replay() -> Tensor:
        graph.replay()
        return result

    return replay


def _doubled(minimum: int, maximum: int) -> list[int]:
    """`minimum` doubled until `maximum`, which is the last."""
    bounds = [min(minimum, maximum)]
    while bounds[-1] < maximum:
        bounds.append(min(2 * bounds[-1], maximum))
    return bounds


def _bound(bounds: Sequence[int], number: int) -> int:
    return bounds[bisect_left(bounds, number)]
