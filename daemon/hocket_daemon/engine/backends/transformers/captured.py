"""Passes on a GPU as captured graphs: decode steps, and passes that read parts of prompts beside them.

A step is computed for all of the first rows, as many as reach to the last one that is fed and a round number at that,
over as many keys as the longest of them has, again a round number: one graph for each such pair. A mixed pass is a step
of all rows, and a table of a few rows with several tokens each, whose last one is read again up to the table's width.
What is read again has the same key; a row that is not fed writes one after its end, where nobody reads before
something else is written there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from .graphs import Capture, bound, doubled, seconds
from .slots import Plan, RowSpan, Slots, unseen

MIN_ROWS, MIN_LENGTH = 8, 128
PART_TOKENS = (512, 256, 128)  # of a prompt that a mixed pass may read
OVER_STEP = 2.0  # a mixed pass takes at most so many decode steps, if it can


class Captive(NamedTuple):
    """The part of a model to capture; `forward` gives logits [wanted, vocabulary] of ids [1, tokens] by a plan."""

    slots: Slots
    forward: Callable[[Tensor, Plan], Tensor]
    dtype: torch.dtype
    device: torch.device


class Fed(NamedTuple):
    """Tokens that are appended to a row, at least one."""

    row: int
    tokens: list[int]


class Table(NamedTuple):
    """Rows of a mixed pass that may get several tokens each, and how many."""

    rows: int
    width: int


class CapturedPasses:
    """A model's passes, but for those that feed a row more than a part of a prompt."""

    def __init__(self, model: Captive, capture: Capture, part_tokens: int = 0) -> None:
        """Capture every graph at once. Parts have `part_tokens`; 0: as many as OVER_STEP allows, by measuring."""
        self._model, self._slots, self._capture = model, model.slots, capture
        slots = len(model.slots.lengths)
        self._rows, self._lengths = doubled(MIN_ROWS, slots), doubled(MIN_LENGTH, model.slots.context)
        # For each row: its token, where its key goes, and the last position that it sees.
        self._step = torch.zeros((3, slots), dtype=torch.int64, device=model.device)
        # For each place of a table: its token, its position and its row.
        self._table = torch.zeros((3, 2 * max(*PART_TOKENS, part_tokens)), dtype=torch.int64, device=model.device)
        shapes = [(rows, length) for rows in self._rows for length in self._lengths]
        self._steps = {shape: capture(partial(self._stepped, *shape)) for shape in shapes}
        self.step_s = seconds(self._steps[shapes[-1]], model.device)
        self.part_tokens = part_tokens or self._fast_tokens()
        self._tables = _tables(self.part_tokens)
        mixed = [(table, length) for table in self._tables for length in self._lengths[-2:]]
        self._mixed = {(table, length): capture(partial(self._with_table, table, length)) for table, length in mixed}

    def fits(self, fed: Fed) -> bool:
        """Tell whether a captured pass takes it: it is no longer than a part, and there is a place after its end."""
        return len(fed.tokens) <= self.part_tokens and (
            len(fed.tokens) == 1 or self._slots.lengths[fed.row] + len(fed.tokens) < self._slots.context
        )

    def run(self, fed: Sequence[Fed], places: Sequence[int]) -> Tensor:
        """Append `fed`, all of which fit, in one pass where one takes them.

        Returns logits [places, vocabulary] after the tokens at `places`, counted over all of `fed` in a line.
        """
        single = [each for each in fed if len(each.tokens) == 1]
        if len(single) == len(fed):
            return self._run_step(single)
        longer = [each for each in fed if len(each.tokens) > 1]
        parts = [self._run_mixed(single * (not at), part) for at, part in enumerate(self._parted(longer))]
        starts = list(accumulate((len(each.tokens) for each in fed), initial=0))
        spans = [range(start, end) for start, end in pairwise(starts)]
        line = [at for span in sorted(spans, key=lambda span: len(span) > 1) for at in span]
        stands = dict(zip(line, range(len(line)), strict=True))
        return torch.cat(parts)[_indices([stands[place] for place in places], self._model.device)]

    def _run_step(self, fed: Sequence[Fed]) -> Tensor:
        lengths = self._slots.lengths
        rows = bound(self._rows, max(each.row for each in fed) + 1)
        length = bound(self._lengths, max(lengths[each.row] for each in fed) + 1)
        self._give_step(fed, (), rows)
        logits = self._steps[rows, length]()
        self._lengthen(fed)
        return logits[_indices([each.row for each in fed], self._model.device)]

    def _parted(self, fed: Sequence[Fed]) -> Iterator[list[Fed]]:
        """Yield `fed` in order, as many together as a table takes."""
        part: list[Fed] = []
        for each in fed:
            if part and self._table_of([*part, each]) is None:
                yield part
                part = []
            part.append(each)
        yield part

    def _table_of(self, fed: Sequence[Fed]) -> Table | None:
        width = max(len(each.tokens) for each in fed)
        return next((each for each in self._tables if each.rows >= len(fed) and each.width >= width), None)

    def _run_mixed(self, single: Sequence[Fed], longer: Sequence[Fed]) -> Tensor:
        """Run a mixed pass; return the logits after all tokens of `single`, and then of `longer`."""
        table, lengths = self._table_of(longer), self._slots.lengths
        assert table is not None, "a part fits by itself"
        fed = [*single, *longer]
        needed = max(lengths[each.row] + len(each.tokens) for each in fed)
        length = bound(self._lengths[-2:], needed)
        self._give_step(single, longer, len(lengths))
        places = []
        for row, tokens in longer:
            own = [(token, lengths[row] + at, row) for at, token in enumerate(tokens)]
            places += own + own[-1:] * (table.width - len(own))
        places += places[-table.width :] * (table.rows - len(longer))
        self._table[:, : len(places)].copy_(torch.tensor(places).T)
        logits = self._mixed[table, length]()
        self._lengthen(fed)
        first = range(len(lengths), logits.shape[0], table.width)
        spans = [range(start, start + len(each.tokens)) for start, each in zip(first, longer, strict=False)]
        taken = [*(each.row for each in single), *chain.from_iterable(spans)]
        return logits[_indices(taken, self._model.device)]

    def _give_step(self, fed: Sequence[Fed], others: Sequence[Fed], rows: int) -> None:
        """Fill in a step of the first `rows`; those not fed write after their end, also if `others` lengthen them."""
        lengths = self._slots.lengths
        tokens, seen = [0] * rows, [0] * rows
        written = [min(each, self._slots.context - 1) for each in lengths[:rows]]  # none that decodes is that full
        for row, (token,) in fed:
            tokens[row], seen[row] = token, lengths[row]
        for row, appended in others:
            written[row] += len(appended)
        self._step[:, :rows].copy_(torch.tensor([tokens, written, seen]))

    def _lengthen(self, fed: Sequence[Fed]) -> None:
        for row, tokens in fed:
            self._slots.lengths[row] += len(tokens)

    def _stepped(self, rows: int, length: int) -> Tensor:
        tokens, written, _ = self._step[:, :rows]
        behind = torch.arange(rows, device=tokens.device)
        slot_mapping = behind * self._slots.context + written
        return self._model.forward(
            tokens[None], Plan(slot_mapping, written[None], behind, [self._step_span(rows, length)])
        )

    def _with_table(self, table: Table, length: int) -> Tensor:
        slots, size = len(self._slots.lengths), table.rows * table.width
        tokens, written, _ = self._step
        ids, positions, rows = self._table[:, :size]
        number = torch.arange(slots, device=ids.device)
        mapping = torch.cat([number * self._slots.context + written, rows * self._slots.context + positions])
        keys = torch.arange(length, device=ids.device)
        hidden = keys > positions.view(table.rows, 1, table.width, 1)
        span = RowSpan(rows[:: table.width], size, length, unseen(hidden, self._model.dtype))
        plan = Plan(
            mapping,
            torch.cat([written, positions])[None],
            torch.arange(slots + size, device=ids.device),
            [self._step_span(slots, length), span],
        )
        return self._model.forward(torch.cat([tokens, ids])[None], plan)

    def _step_span(self, rows: int, length: int) -> RowSpan:
        seen = self._step[2, :rows]
        hidden = torch.arange(length, device=seen.device) > seen[:, None]
        return RowSpan(slice(0, rows), rows, length, unseen(hidden, self._model.dtype)[:, None, None])

    def _fast_tokens(self) -> int:
        """The most of PART_TOKENS whose pass takes no longer than OVER_STEP allows, or the least."""
        for tokens in PART_TOKENS:
            replay = self._capture(partial(self._with_table, Table(1, tokens), self._lengths[-1]))
            if seconds(replay, self._model.device) <= OVER_STEP * self.step_s:
                return tokens
        return min(PART_TOKENS)


def _tables(tokens: int) -> list[Table]:
    """Return tables for few tokens of many rows, a question after several passages, and parts of one or two prompts."""
    narrow = [table for table in (Table(16, 8), Table(8, 32)) if table.width < tokens]
    return [*narrow, Table(1, tokens), Table(2, tokens)]


def _indices(numbers: list[int], device: torch.device) -> Tensor:
    return torch.tensor(numbers, device=device)
