"""What transformers itself computes, with no slots and no batch: the reference that readings are held to."""

from __future__ import annotations

import numpy as np

from hocket_daemon.engine.sequences import SequenceGroup
from hocket_daemon.engine.transformers_voice import LanguageModel


def alone(model: LanguageModel, reading: SequenceGroup, answer: list[int]) -> np.ndarray:
    """Probabilities [rows, vocabulary] of what follows each row of `reading` behind `answer`."""
    query, documents, space = reading._prompt
    return np.array([model.score([*d.ids[:space], *query, *answer, 0], 1)[0] for d in documents])
