"""A session's reading: one row per document, the question behind each, and the answer so far behind that."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hocket_bus.errors import BadRequest
from hocket_bus.messages import Task

from .documents import in_passes, keep_documents, place_documents, prefix_of
from .preemption import Interrupt
from .prompt import layout_for
from .slots import Segment
from .stored import Prefix
from .transformers_voice import LanguageModel

T = TypeVar("T")
Prefill: TypeAlias = Generator[Segment, NDArray[np.float32], T]  # asks for forward passes, and is sent what they gave


class SequenceGroup:
    """Rows in the model's slots, one for each passage. Close it to free them."""

    def __init__(
        self,
        model: LanguageModel,
        question: str,
        passages: list[str],
        *,
        task: Task,
        room: int,
    ) -> None:
        """`room` is the number of answer tokens to come; nothing is read before `prefill`.

        Raises BadRequest when question and answer leave no room, Busy when no rows are free.
        """
        layout = layout_for(model.tokenizer, task)
        query = layout.question(model.tokenizer, question)
        space = model.slots.context - len(query) - room
        documents = [prefix_of(model, layout, passage) for passage in passages or [""]]
        if space < 1 or not query:
            raise BadRequest(
                f"the question has {len(query)} tokens and the answer may have {room}: "
                f"more than the model's context of {model.slots.context}",
                "shorten the question or lower --max-tokens",
            )
        self.model = model
        self._fed: list[int] = []
        self._prompt = (query, documents, space)
        self._computed: list[tuple[int, Prefix]] = []
        self._rows = model.slots.take(len(documents))

    def prefill(self) -> Prefill[None]:
        """Read documents and question."""
        query, documents, space = self._prompt
        missing, computed = place_documents(self.model, self._rows, documents, space)
        first: dict[int, NDArray[np.float32]] = {}
        for feed in in_passes(self._rows, [[*ids, *query] for ids in missing], self.model.prefill_tokens):
            first |= zip(feed.rows, (yield feed), strict=True)
        self._first = np.stack([first[row] for row in self._rows])
        self._prompt_lengths = [self.model.slots.lengths[row] for row in self._rows]
        self._computed = computed

    def feed(self, answer: list[int]) -> Segment:
        """What is to be appended for the distribution behind `answer`; the rows roll back to what they share with it.

        At least one token is fed again, unless the answer is empty: then there is nothing to feed.
        """
        common = _common(self._fed, answer[:-1])
        for row, length in zip(self._rows, self._prompt_lengths, strict=True):
            self.model.slots.lengths[row] = length + common
        self._fed = answer[:common]
        return Segment(self._rows, [answer[common:]] * len(self._rows)) if answer else Segment([], [])

    def take(self, answer: list[int], read: NDArray[np.float32] | None) -> NDArray[np.float32]:
        """The rows' distributions behind `answer`, [rows, vocabulary]; `read` is what its feed gave, None for none."""
        self._fed = list(answer)
        return self._first if read is None else read

    def distribution(
        self, answer: list[int], weights: list[float], interrupt: Interrupt | None = None
    ) -> NDArray[np.float32]:
        """p_s behind the answer tokens `answer`, shape [vocabulary], decoded by itself. Raises Preempted."""
        feed = self.feed(answer)
        return mix(self.take(answer, self.model.read([feed], interrupt)[0] if feed.rows else None), weights)

    @property
    def length(self) -> int:
        """Tokens in the longest row."""
        return max(self.model.slots.lengths[row] for row in self._rows)

    def close(self) -> None:
        """Free the rows; documents that had to be computed are kept first."""
        keep_documents(self.model, self._computed)
        self.model.slots.give_back(self._rows)


def read(
    model: LanguageModel,
    question: str,
    passages: list[str],
    *,
    task: Task,
    room: int,
) -> Prefill[SequenceGroup]:
    """A sequence group with its prompt read. Raises as it does, and whatever is thrown in for a pass's outcome."""
    reading = SequenceGroup(model, question, passages, task=task, room=room)
    try:
        yield from reading.prefill()
    except BaseException:
        reading.close()
        raise
    return reading


def read_at_once(model: LanguageModel, question: str, passages: list[str], *, task: Task, room: int) -> SequenceGroup:
    """The same with one pass behind the other."""
    passes = read(model, question, passages, task=task, room=room)
    feed = next(passes)
    while True:
        try:
            feed = passes.send(model.read([feed])[0])
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def mix(rows: NDArray[np.float32], weights: list[float]) -> NDArray[np.float32]:
    """The rows' distributions by the passages' relevances, which sum to 1; `weights` is empty without passages."""
    mixed = np.array(weights or [1.0], np.float32) @ rows
    return np.asarray(mixed / mixed.sum())


def _common(first: list[int], second: list[int]) -> int:
    pairs = zip(first, second, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))
