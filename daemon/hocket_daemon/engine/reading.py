"""A session's reading: one row per document, the question behind each, and the answer so far behind that."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hocket_bus.errors import BadRequest
from hocket_bus.messages import Task

from .documents import keep_documents, prefix_of, write_documents
from .model import LanguageModel
from .preemption import Interrupt
from .prompt import layout_for
from .stored import Prefix


class Reading:
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
        """`room` is the number of answer tokens to come.

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
        self._model = model
        self._fed: list[int] = []
        self._block = model.slots.take(len(documents))
        self._computed: list[tuple[int, Prefix]] = []
        try:
            self._computed = write_documents(model, self._block, documents, space)
            self._first = model.read(self._block, query)
        except BaseException:
            self.close()
            raise
        self._prompt_lengths = model.slots.lengths[self._block]

    def distribution(
        self, answer: list[int], weights: list[float], interrupt: Interrupt | None = None
    ) -> NDArray[np.float64]:
        """p_s behind the answer tokens `answer`, shape [vocabulary]; rows roll back by length. Raises Preempted.

        `weights` are the passages' relevances and sum to 1; empty without passages.
        """
        return _mix(self._rows(answer, interrupt), weights)

    @property
    def length(self) -> int:
        """Tokens in the longest row."""
        return max(self._model.slots.lengths[self._block])

    def close(self) -> None:
        """Free the rows; documents that had to be computed are kept first."""
        keep_documents(self._model, self._computed)
        self._model.slots.give_back(self._block)

    def _rows(self, answer: list[int], interrupt: Interrupt | None) -> NDArray[np.float32]:
        if not answer:
            return self._first
        common = _common(self._fed, answer[:-1])
        self._model.slots.lengths[self._block] = [length + common for length in self._prompt_lengths]
        self._fed = answer[:common]
        rows = self._model.read(self._block, answer[common:], interrupt)
        self._fed = list(answer)
        return rows


def _mix(rows: NDArray[np.float32], weights: list[float]) -> NDArray[np.float64]:
    mixed = np.array(weights or [1.0]) @ rows.astype(np.float64)
    return np.asarray(mixed / mixed.sum())


def _common(first: list[int], second: list[int]) -> int:
    pairs = zip(first, second, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))
