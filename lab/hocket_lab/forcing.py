"""Teacher forcing: what a voice's model says at every place of a given text, by transformers alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from hocket_bus.messages import Task
from hocket_daemon.engine.backends.loading import dtype_of, load
from hocket_daemon.engine.backends.transformers_voice import TransformersVoice
from hocket_daemon.engine.preemption import Interrupt
from hocket_daemon.engine.runtime.sequences import SequenceGroup, at_once, read
from hocket_daemon.engine.sampling.heads import mix
from hocket_daemon.engine.voice import Voice


class Forced:
    """The voice's model once more, without slots, batches and kept documents: what those are held to."""

    def __init__(self, voice: TransformersVoice) -> None:
        self._device, self._vocabulary = voice.device, voice.vocabulary
        self._weights, _ = load(voice.folder, dtype_of(voice.precision, voice.device), voice.device)

    @torch.inference_mode()
    def score(self, tokens: Sequence[int], last: int) -> NDArray[np.float32]:
        """Probabilities [last, vocabulary] at the last `last` tokens' places.

        Row i is the distribution behind all tokens before the i-th of them; at least one token comes before the first.
        """
        assert 0 < last < len(tokens)
        ids = torch.tensor([list(tokens)], device=self._device)
        logits = self._weights(input_ids=ids, use_cache=False, logits_to_keep=last + 1).logits
        return torch.softmax(logits[0, :-1, : self._vocabulary].float(), dim=-1).cpu().numpy()


def distribution(
    group: SequenceGroup, tokens: list[int], weights: list[float], interrupt: Interrupt | None = None
) -> NDArray[np.floating]:
    """What a group says behind `tokens`, [vocabulary], decoded by itself. Raises Preempted."""
    voice, segment = group.voice, group.roll_back(tokens)
    read = voice.read([segment], interrupt)[0] if segment.rows else None
    return mix(group.take(tokens, read).dense(voice.vocabulary), weights)


def read_at_once(
    voice: Voice, question: str, passages: list[str], *, task: Task, room: int, heard: bool = False
) -> SequenceGroup:
    """A side's prompt in the voice's own slots, one pass behind the other. Raises BadRequest."""
    return at_once(voice, read(voice, question, passages, task=task, room=room, heard=heard))
