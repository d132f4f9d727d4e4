"""What transformers itself computes, with no slots and no batch: the reference that sequences are held to."""

from __future__ import annotations

import numpy as np

from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.runtime.sequences import SequenceGroup
from hocket_lab.forcing import Forced


def alone(model: TransformersModel, group: SequenceGroup, answer: list[int]) -> np.ndarray:
    """Probabilities [rows, vocabulary] of what follows each row of `group` behind `answer`."""
    forced = Forced(model)
    return np.array([forced.score([*prompt, *answer, 0], 1)[0] for prompt in group.prompts])
