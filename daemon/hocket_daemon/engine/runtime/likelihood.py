"""The likelihood that the rows of a group give to a text appended to all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MAX_TOKENS = 128  # of the text's end are counted
MINIMUM = 1e-12  # of a probability: no single token decides alone
NO_LIKELIHOODS: NDArray[np.float64] = np.zeros((0, 0))


def log_likelihoods(given: NDArray[np.float32], part: range) -> NDArray[np.float64]:
    """Natural logs [rows, tokens], in [log MINIMUM, 0], of those tokens of a text that count.

    `given` [rows, tokens - 1] are the probabilities of all its tokens but the first, and `part` is which of its tokens
    are to count, of which the first cannot.
    """
    counted = range(max(1, part.start, part.stop - MAX_TOKENS), part.stop)
    logs = given[:, counted.start - 1 : counted.stop - 1].astype(np.float64)
    return np.asarray(np.minimum(0.0, np.log(np.maximum(logs, MINIMUM))))
