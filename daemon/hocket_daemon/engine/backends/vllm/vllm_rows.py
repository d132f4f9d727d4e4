"""Rows on vLLM: each is one resumable request, whose next token is chosen here and not by vLLM.

A row that gets one token after all that it holds decodes like any other request: the token that vLLM drew is replaced.
Anything else is a chunk that is appended to a row that was parked, cut or begun anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hocket_bus.errors import BadConfiguration, HocketError

from ...preemption import Interrupt, Preempted
from ...sampling.distribution import VOCABULARY_LIMIT
from ...sampling.heads import MASS, MAX_IDS, NO_PROBABILITIES, Heads
from ...segments import Segment
from ..rows import RowMemory
from .vllm_engine import Engine

_BITS = np.uint64(32)  # of a probability, and of an id


@dataclass
class _Row:
    """A row that is to hold `ids`, the first `held` of which are in vLLM's blocks; `request` is empty without any."""

    ids: list[int] = field(default_factory=list)
    held: int = 0
    request: str = ""


class _Fed(NamedTuple):
    """Tokens that a pass appends to a row, and the results wanted after each: of `given` ids, or all."""

    row: int
    ids: list[int]
    given: list[int]
    every: bool


class _Behind(NamedTuple):
    """The heads after a row's last token, and vLLM's [tokens, 1 + top] after each of a prompt's tokens but the last."""

    last: Heads
    prompt_ids: NDArray[np.int32] | None = None
    prompt_logs: NDArray[np.float32] | None = None


class VllmRows(RowMemory):
    """Rows whose blocks are reserved: none ever waits for another one's."""

    def __init__(self, engine: Engine, slots: int, context: int, vocabulary: int) -> None:
        """Reserve the rows. Raises BadConfiguration where vLLM's blocks do not hold all of them."""
        super().__init__(slots, context)
        self._engine, self._vocabulary = engine, vocabulary
        self._rows = [_Row() for _ in range(slots)]
        self._begun = 0
        blocks, size = engine.blocks
        needed = slots * -(-engine.longest // size) + 1  # vLLM keeps one for itself
        if blocks < needed:
            raise BadConfiguration(
                f"{slots} rows of {context} tokens take {needed} blocks of vLLM's memory, and it has {blocks}",
                "lower 'slots' or 'context' under [model], or raise expert.model.kv_bytes",
            )

    def give_back(self, rows: Sequence[int]) -> None:
        """Free rows."""
        for row in rows:
            self._leave(row, 0)
        super().give_back(rows)

    def roll_back(self, row: int, length: int) -> None:
        """Forget all but the first `length` tokens of a row, which holds at least as many."""
        super().roll_back(row, length)
        state = self._rows[row]
        del state.ids[length:]
        if state.held > length:
            if self._engine.scheduler.retained(state.request, length) == 0:
                self._leave(row, length)
            else:
                state.held = self._engine.scheduler.cut(state.request, length)

    def append(self, segments: Sequence[Segment], interrupt: Interrupt) -> list[Heads]:
        """Lengthen the rows of `segments`, by one pass if they fit into one; return what each segment asks for.

        The interrupt is heeded between passes; the rows are then as they were, and Preempted is raised.
        """
        interrupt.raise_if_set()
        fed = [_Fed(*each, every=segment.every) for segment in segments for each in segment.each()]
        before = list(self.lengths)
        self._engine.scheduler.decoding.clear()
        self._engine.force({self._rows[each.row].request: each.ids[0] for each in fed if self._decodes(each)})
        for each in fed:
            self._feed(each)
        found = self._passes([each.row for each in fed], interrupt, before)
        asked = iter(self._asked(each, before[each.row], found[each.row]) for each in fed)
        return [_joined([next(asked) for _ in segment.rows]) for segment in segments]

    def _decodes(self, fed: _Fed) -> bool:
        state = self._rows[fed.row]
        alone = len(fed.ids) == 1 and not fed.given
        return alone and state.held == len(state.ids) > 0 and self._engine.scheduler.decodes(state.request)

    def _feed(self, fed: _Fed) -> None:
        state = self._rows[fed.row]
        if state.request in self._engine.scheduler.decoding:
            state.ids.extend(fed.ids)
            return
        scored = None
        if fed.every or fed.given:  # vLLM scores the tokens of a request that begins; its blocks are found again
            scored = self._engine.top if fed.every else 0
            self._leave(fed.row, len(state.ids))
            state = self._rows[fed.row]
        if state.request:
            self._engine.scheduler.park(state.request)
        else:
            self._begun += 1
            state.request = f"{fed.row}.{self._begun}"
        if scored is not None:
            self._engine.scheduler.found[state.request] = len(state.ids)
        state.ids.extend(fed.ids)
        self._engine.add(state.request, state.ids[state.held :], scored)

    def _passes(self, rows: list[int], interrupt: Interrupt, before: list[int]) -> dict[int, _Behind]:
        """Make passes until `rows` have read all that they were fed; return what follows each."""
        waiting, found = {self._rows[row].request: row for row in rows}, dict[int, _Behind]()
        while waiting:
            outputs, executed = self._engine.step()
            for output in outputs:
                row = waiting.pop(output.request_id)
                found[row] = _parsed(output, self._engine.scheduler.behind(output.request_id))
                self._rows[row].held = self.lengths[row] = len(self._rows[row].ids)
                self._engine.scheduler.decoding.discard(output.request_id)
            if waiting and (interrupt.is_set or not executed):
                for row in rows:
                    self._undo(row, before[row])
                if interrupt.is_set:
                    raise Preempted
                raise HocketError("vLLM has stopped reading the prompt", "see the daemon's log, and restart it")
        return found

    def _undo(self, row: int, length: int) -> None:
        """Restore a row's length: cut a row that is read; make vLLM forget one in the middle of its chunk."""
        if self._rows[row].held == len(self._rows[row].ids):
            self.roll_back(row, length)
        else:
            self._leave(row, length)

    def _leave(self, row: int, length: int) -> None:
        """Take a row out of the engine; its next tokens are read with the `length` that it is still to hold."""
        state = self._rows[row]
        if state.request:
            self._engine.abort(state.request)
        self._rows[row] = _Row(state.ids[:length])
        self.lengths[row] = length

    def _asked(self, fed: _Fed, start: int, behind: _Behind) -> Heads:
        """Return what a segment asks for of one of its rows, which held `start` tokens."""
        last = behind.last
        if behind.prompt_logs is None or behind.prompt_ids is None:
            return last
        inside = slice(start, start + len(fed.ids) - 1)
        given = NO_PROBABILITIES
        if fed.given:
            assert fed.given[: len(fed.ids) - 1] == fed.ids[1 : len(fed.given) + 1], "vLLM scores what follows"
            given = np.exp(behind.prompt_logs[inside, 0])[: len(fed.given)]
            if len(fed.given) == len(fed.ids):
                given = np.append(given, last.of(fed.given[-1], self._vocabulary)).astype(np.float32)
        if not fed.every:
            return Heads(last.probabilities, last.ids, given)
        inner = likeliest_here(behind.prompt_ids[inside], behind.prompt_logs[inside], self._vocabulary)
        return _joined([inner, Heads(last.probabilities, last.ids, given)])


def likeliest_here(ids: NDArray[np.int32], logs: NDArray[np.float32], vocabulary: int) -> Heads:
    """Return what `likeliest` does, from vLLM's [places, 1 + top], which descend after the first column.

    Ids that only pad the vocabulary get no probability.
    """
    ids, probabilities = ids[:, 1:], np.exp(logs[:, 1:])
    outside = ids >= vocabulary
    if outside.any():
        filled = np.where(outside, probabilities, 0.0).sum(axis=1, keepdims=True)
        probabilities = np.where(outside, 0.0, probabilities / (1.0 - filled)).astype(np.float32)
    if vocabulary <= MAX_IDS:
        return _ascending(ids, probabilities, outside, vocabulary)
    beyond = probabilities.cumsum(axis=1) - probabilities >= MASS
    return _ascending(ids, probabilities, beyond | outside, MAX_IDS)


def _parsed(output: Any, last: Heads) -> _Behind:  # noqa: ANN401 - vLLM's own
    if not output.new_token_ids:
        raise HocketError(f"vLLM ended a row ({output.finish_reason})", "see the daemon's log, and restart it")
    prompt = output.new_prompt_logprobs_tensors
    if prompt is None:
        return _Behind(last)
    return _Behind(last, prompt.logprob_token_ids.numpy(), prompt.logprobs.numpy())


def _ascending(
    ids: NDArray[np.int32], probabilities: NDArray[np.float32], left_out: NDArray[np.bool_], width: int
) -> Heads:
    """Sort ids with their probabilities, packed into one number each; return the first `width` of each row."""
    bits = np.where(left_out, np.float32(0), probabilities).view(np.uint32)
    pairs = np.where(left_out, VOCABULARY_LIMIT, ids).astype(np.uint64) << _BITS | bits
    pairs.sort(axis=1)
    pairs = pairs[:, :width]
    return Heads(pairs.astype(np.uint32).view(np.float32), (pairs >> _BITS).astype(np.int32))


def _joined(parts: Sequence[Heads]) -> Heads:
    """Join heads one after the other, with the probabilities of their given ids."""
    if len(parts) == 1:
        return parts[0]
    ids = [part.ids for part in parts if part.ids is not None]
    return Heads(
        np.concatenate([part.probabilities for part in parts]),
        np.concatenate(ids),
        np.concatenate([part.given for part in parts]),
    )
