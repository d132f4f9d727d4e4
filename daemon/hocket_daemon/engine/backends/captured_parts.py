"""Parts of prompts on a GPU as captured graphs: a few rows, with any number of tokens for each.

The rows' keys stand behind one another as if they were those of one row, and the mask lets a token see its own row's
alone, up to itself. The last token is read again up to the graph's number, as in every pass: its key is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from .captured_steps import MIN_LENGTH, Captive, Fed
from .graphs import Capture, bound, doubled, seconds
from .slots import Part, Plan, unseen

TOKENS = (128, 256, 512)
PRODUCT = 2048  # of a graph's tokens and rows: that many keys a token of the context are looked at, seen or not


class CapturedParts:
    """Passes of a model that append several tokens to a row."""

    def __init__(self, model: Captive, capture: Capture, queries: int) -> None:
        """Captures every graph at once; `queries` is the number of heads that share a key head."""
        self._model, self._slots = model, model.slots
        self._queries = queries
        self._lengths = doubled(MIN_LENGTH, model.slots.context)
        # For each token: itself, its position, where its key goes, and the number of its row; then the rows.
        self._given = torch.zeros((4, max(TOKENS)), dtype=torch.int64, device=model.device)
        self._rows = torch.zeros(PRODUCT // min(TOKENS), dtype=torch.int64, device=model.device)
        shapes = [(tokens, length) for tokens in TOKENS for length in self._lengths]
        self._replay = {shape: capture(partial(self._part, *shape)) for shape in shapes}

    def fits(self, fed: Fed) -> bool:
        """Whether so many tokens are read in one part."""
        return len(fed.tokens) <= max(TOKENS)

    def run(self, fed: Sequence[Fed]) -> Iterator[Tensor]:
        """Append the tokens of `fed`, that all fit; part by part logits [tokens, vocabulary] behind each of them."""
        part: list[Fed] = []
        for each in fed:
            if not _together([*part, each]):
                yield self._run(part)
                part = []
            part.append(each)
        yield self._run(part)

    def fast_tokens(self, step_s: float) -> int:
        """Of the numbers of tokens that a graph has, the most that take no longer than `step_s`; at least the least."""
        took_s = {tokens: seconds(partial(self._longest, tokens)) for tokens in TOKENS}
        return max(tokens for tokens in TOKENS if tokens == min(TOKENS) or took_s[tokens] <= step_s)

    def _longest(self, tokens: int) -> None:
        self._replay[tokens, self._lengths[-1]]()

    def _run(self, fed: list[Fed]) -> Tensor:
        lengths = self._slots.lengths
        number = sum(len(each.tokens) for each in fed)
        tokens = bound(TOKENS, number)
        length = bound(self._lengths, max(lengths[each.row] + len(each.tokens) for each in fed))
        places = [
            (token, lengths[each.row] + at, each.row * self._slots.context + lengths[each.row] + at, which)
            for which, each in enumerate(fed)
            for at, token in enumerate(each.tokens)
        ]
        places += [places[-1]] * (tokens - number)
        rows = [each.row for each in fed]
        rows += rows[:1] * (len(self._rows) - len(rows))  # seen by no token
        self._given[:, :tokens].copy_(torch.tensor(places).T)
        self._rows.copy_(torch.tensor(rows))
        logits = self._replay[tokens, length]()
        for each in fed:
            lengths[each.row] += len(each.tokens)
        return logits[:number].clone()

    def _part(self, tokens: int, length: int) -> Tensor:
        ids, positions, slot_mapping, row = self._given[:, :tokens]
        rows = self._rows[: PRODUCT // tokens]
        keys = torch.arange(len(rows) * length, device=ids.device)
        hidden = (keys // length != row[:, None]) | (keys % length > positions[:, None])
        mask = unseen(hidden, self._model.dtype)
        part = Part(rows, length, mask.repeat(self._queries, 1)[None, None])
        behind = torch.arange(tokens, device=ids.device)
        return self._model.forward(ids[None], Plan(slot_mapping, positions[None], behind, part))


def _together(fed: Sequence[Fed]) -> bool:
    """Whether one graph takes them: none of them twice, since a graph is told of a row once."""
    tokens = sum(len(each.tokens) for each in fed)
    return tokens <= max(TOKENS) and len(fed) <= PRODUCT // bound(TOKENS, tokens)
