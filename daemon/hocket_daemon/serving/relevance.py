"""From retrieval scores to the weights of passages within a side (DRAGON §4.1, A.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

LIKELIHOOD_SHARE = 0.25  # of its natural log: chosen on questions apart from those reported (docs/lab-log.md)


def weigh(
    scores: list[float], temperature: float, likelihoods: Sequence[float] = ()
) -> tuple[list[float], float | None]:
    """The documents' weights, softmax(R/τ), and log h = logsumexp(R/τ); no documents: no weights and None.

    With `likelihoods`, the natural logs of the question's probability under each document, LIKELIHOOD_SHARE of them is
    added to R/τ: a tempered posterior of the document given the question.
    """
    if not scores:
        return [], None
    logits = np.array(scores) / temperature
    if likelihoods:
        logits += LIKELIHOOD_SHARE * np.array(likelihoods)
    log_h = float(logits.max() + np.log(np.exp(logits - logits.max()).sum()))
    return [float(weight) for weight in np.exp(logits - log_h)], log_h
