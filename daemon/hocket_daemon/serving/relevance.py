"""From retrieval scores to the weights of passages within a side (DRAGON §4.1, A.1)."""

from __future__ import annotations

import numpy as np


def weigh(scores: list[float], temperature: float) -> tuple[list[float], float | None]:
    """The documents' weights, softmax(R/τ), and log h = logsumexp(R/τ); no documents: no weights and None."""
    if not scores:
        return [], None
    logits = np.array(scores) / temperature
    log_h = float(logits.max() + np.log(np.exp(logits - logits.max()).sum()))
    return [float(weight) for weight in np.exp(logits - log_h)], log_h
