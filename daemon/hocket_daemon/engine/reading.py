"""A session's reading: one row per document, the question behind each, and the answer so far behind that."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hocket_bus.errors import BadRequest
from hocket_bus.messages import Task

from .model import LanguageModel
from .preemption import Interrupt
from .prompt import layout_for


class Reading:
    """Rows in the model's slots whose distributions are mixed by relevance. Close it to free the rows."""

    def __init__(
        self,
        model: LanguageModel,
        question: str,
        passages: list[str],
        *,
        weights: list[float],
        task: Task,
        room: int,
    ) -> None:
        """`weights` are the documents' relevances and sum to 1; `room` is the number of answer tokens to come.

        Raises BadRequest when question and answer leave no room, Busy when no rows are free.
        """
        layout = layout_for(model.tokenizer, task)
        query = layout.question(model.tokenizer, question)
        space = model.slots.context - len(query) - room
        documents = [layout.document(model.tokenizer, passage)[: max(0, space)] for passage in passages or [""]]
        if space < 1 or not query:
            raise BadRequest(
                f"the question has {len(query)} tokens and the answer may have {room}: "
                f"more than the model's context of {model.slots.context}",
                "shorten the question or lower --max-tokens",
            )
        self._model = model
        self._weights = np.array(weights or [1.0])
        self._fed: list[int] = []
        self._block = model.slots.take(len(documents))
        try:
            if all(documents):
                model.write(self._block, documents)
            self._first = self._mix(model.read(self._block, query))
        except BaseException:
            self.close()
            raise
        self._prompt_lengths = model.slots.lengths[self._block]

    def distribution(self, answer: list[int], interrupt: Interrupt | None = None) -> NDArray[np.float64]:
        """p_s behind the answer tokens `answer`, shape [vocabulary]; rows roll back by length. Raises Preempted."""
        if not answer:
            return self._first
        common = _common(self._fed, answer[:-1])
        self._model.slots.lengths[self._block] = [length + common for length in self._prompt_lengths]
        self._fed = answer[:common]
        mixed = self._mix(self._model.read(self._block, answer[common:], interrupt))
        self._fed = list(answer)
        return mixed

    def close(self) -> None:
        """Free the rows."""
        self._model.slots.give_back(self._block)

    def _mix(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        mixed = self._weights @ rows.astype(np.float64)
        return np.asarray(mixed / mixed.sum())


def _common(first: list[int], second: list[int]) -> int:
    pairs = zip(first, second, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))
