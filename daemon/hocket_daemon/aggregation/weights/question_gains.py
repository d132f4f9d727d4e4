"""The gain of each word of the question: how much better a side's passages explain it than its model does without.

Unlike models' likelihoods cannot be compared: the larger one explains every question better. What each gains by its
passages can, in the words that both have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...engine.runtime.likelihood import MAX_TOKENS, MINIMUM
from ...engine.text.words import words_of

_MOST = -math.log(MINIMUM) / 2  # nats that a word may gain, or lose: the sum of both is what a log may be


def question_gains(question: str, token_bytes: Sequence[bytes], gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the gains of the question's last words, [words], from those of its tokens, as logs from log MINIMUM to 0.

    `token_bytes` are the bytes of the tokens, of which the last ends with the question; `gains` [tokens] are log P with
    the passages less log P without. A token counts for the word that it begins in.
    """
    words = words_of(question.encode())
    ends = np.cumsum([len(word) for word in words])
    found = np.zeros(len(words))
    at = int(ends[-1]) if words else 0
    for piece, gain in zip(reversed(token_bytes), reversed(gains), strict=True):
        at -= len(piece)
        if words:
            found[min(len(words) - 1, int(np.searchsorted(ends, max(0, at), side="right")))] += gain
    return np.asarray(np.clip(found[-MAX_TOKENS:], -_MOST, _MOST) - _MOST)
