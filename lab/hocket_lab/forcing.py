"""Teacher forcing: the distributions of a model at every place of a given text, by transformers alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from hocket_bus.messages import Prompt, Task, Turn
from hocket_daemon.engine.backends.transformers.loading import dtype_of, load
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.preemption import Interrupt
from hocket_daemon.engine.runtime.sequences import SequenceGroup, at_once, read
from hocket_daemon.engine.sampling.heads import mix


class Forced:
    """The same model without slots, batches and stored documents, as the reference for those."""

    def __init__(self, model: TransformersModel) -> None:
        self._device, self._vocabulary = model.device, model.vocabulary
        self._weights, _ = load(model.folder, dtype_of(model.precision, model.device), model.device)

    @torch.inference_mode()
    def score(self, tokens: Sequence[int], last: int) -> NDArray[np.float32]:
        """Return probabilities [last, vocabulary] at the last `last` tokens' places.

        Row i is the distribution after all tokens before the i-th of them; at least one token comes before the first.
        """
        assert 0 < last < len(tokens)
        ids = torch.tensor([list(tokens)], device=self._device)
        logits = self._weights(input_ids=ids, use_cache=False, logits_to_keep=last + 1).logits
        return torch.softmax(logits[0, :-1, : self._vocabulary].float(), dim=-1).cpu().numpy()


def distribution(
    group: SequenceGroup, tokens: list[int], weights: list[float], interrupt: Interrupt | None = None
) -> NDArray[np.floating]:
    """Return the distribution of a group after `tokens`, [vocabulary], decoded by itself. Raises Preempted."""
    return mix(rows_behind(group, tokens, interrupt), weights)


def rows_behind(group: SequenceGroup, tokens: list[int], interrupt: Interrupt | None = None) -> NDArray[np.floating]:
    """Return the distribution of each row of a group after `tokens`, [rows, vocabulary]. Raises Preempted."""
    model, segment = group.model, group.roll_back(tokens)
    read = model.read([segment], interrupt)[0] if segment.rows else None
    return group.take(tokens, read).dense(model.vocabulary)


def read_at_once(
    model: LanguageModel,
    question: str,
    passages: list[str],
    *,
    task: Task,
    room: int,
    likelihood: bool = False,
    alone: bool = False,
    turns: Sequence[Turn] = (),
) -> SequenceGroup:
    """Read a side's prompt in the model's own slots, one pass after the other. Raises BadRequest."""
    prompt = Prompt(query=question, turns=list(turns))
    return at_once(model, read(model, prompt, passages, task=task, room=room, likelihood=likelihood, alone=alone))
