"""Weights of passages within a side from their retrieval scores (DRAGON §4.1, A.1), and what passages explain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...engine.runtime.likelihood import NO_LIKELIHOODS

LEAST = 0.02  # of the heaviest passage's weight: one that weighs less says nothing, and its row is not decoded
MIN_PART = 0.02  # of what explains a text: a passage that explains none of it keeps a say
ROUNDS = 30  # of expectation maximisation


def weigh(
    scores: list[float],
    temperature: float,
    likelihoods: NDArray[np.float64] = NO_LIKELIHOODS,
    *,
    least: float = LEAST,
) -> tuple[list[float], float | None]:
    """Return the documents' weights, softmax(R/τ), and log h = logsumexp(R/τ); without documents [] and None.

    With `likelihoods`, [documents, tokens], each weight is multiplied by the document's part in the question. A weight
    below `least` times the largest is 0, and the others then sum to 1; log h is of all of them.
    """
    if not scores:
        return [], None
    logits = np.array(scores) / temperature
    if likelihoods.size:
        logits += np.log(parts(likelihoods))
    log_h = float(logits.max() + np.log(np.exp(logits - logits.max()).sum()))
    return _without_light(np.exp(logits - log_h), least).tolist(), log_h


def _without_light(weights: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    """Set weights below `least` times the heaviest one to 0 and rescale the others; any number of equal ones stay."""
    light = weights < least * weights.max()
    if not light.any():
        return weights
    left = np.where(light, 0.0, weights)
    return np.asarray(left / left.sum())


def parts(likelihoods: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much of a text each document explains, summing to 1, from its tokens' logs, [documents, tokens].

    They are the weights of the mixture of the documents' distributions that makes the text likeliest, by expectation
    maximisation from equal ones (Dempster, Laird and Rubin 1977), and no less than about MIN_PART.
    """
    shares = np.exp(likelihoods - likelihoods.max(axis=0, initial=-np.inf))
    found = np.full(len(shares), 1.0 / len(shares))
    for _ in range(ROUNDS if shares.size else 0):
        responsible = found[:, None] * shares
        found = (responsible / responsible.sum(axis=0)).mean(axis=1)
    return np.asarray((found + MIN_PART) / (1.0 + len(found) * MIN_PART))


def explained(likelihoods: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the natural logs of the text's tokens under the mixture of the documents by their `parts`, [tokens]."""
    return np.asarray(np.log(parts(likelihoods) @ np.exp(likelihoods)))
