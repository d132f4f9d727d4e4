"""The gate `evidence`: tests whether home knows enough, by what a search at home has found alone. Pure.

The metric is the probability, by a logistic model, that one of the passages holds what is asked for. Its inputs are the
scores, and how much of the question's telling words and names the passages cover.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import exp
from typing import NamedTuple

from hocket_bus.messages import GateDecision, Passages, Verdict
from hocket_retrieval.text.heads import searched
from hocket_retrieval.text.lexical import telling_words, words

_NAME = re.compile(r"(?<![.?!]\s)(?<!^)\b[A-Z][^\W_]*|\b\w*\d\w*")


class Inputs(NamedTuple):
    """The inputs of the metric: two scores, and shares in [0, 1]."""

    best: float
    second: float
    words: float
    words_in_best: float
    names: float


class Calibration(NamedTuple):
    """A logistic model of the inputs, and the threshold that was chosen for scores of one scorer."""

    scorer: str
    weights: Inputs
    bias: float
    threshold: float


def inputs(question: str, found: Passages) -> Inputs:
    """Return the inputs for a question and the passages found for it at home, best first."""
    scores = sorted((passage.score for passage in found.passages), reverse=True)
    texts = [frozenset(words(searched(passage))) for passage in found.passages]
    together = frozenset[str]().union(*texts)
    asked = telling_words(question)
    names = words(" ".join(_NAME.findall(question)))
    return Inputs(
        best=scores[0] if scores else -1.0,
        second=scores[1] if len(scores) > 1 else -1.0,
        words=_covered(asked, together),
        words_in_best=max((_covered(asked, text) for text in texts), default=0.0),
        names=_covered(names, together),
    )


def metric(given: Inputs, calibration: Calibration) -> float:
    """Return the metric, a probability in [0, 1]."""
    logit = calibration.bias + sum(weight * value for weight, value in zip(calibration.weights, given, strict=True))
    return 1.0 / (1.0 + exp(-logit))


def decide(question: str, found: Passages, calibration: Calibration) -> GateDecision:
    """Decide for home where the metric reaches the threshold; escalate with scores of another scorer."""
    threshold = calibration.threshold
    if not found.passages:
        return _decision("escalate", 0.0, threshold, "no documents on this device")
    if found.scorer != calibration.scorer:
        return _decision("escalate", 0.0, threshold, "the gate is not calibrated for this embedder")
    given = inputs(question, found)
    value = metric(given, calibration)
    covered = f"{given.words:.0%} of the question's words, best passage {given.best:.2f}"
    reason = f"{'enough' if value >= threshold else 'too little'} found on this device: {covered}"
    return _decision("home" if value >= threshold else "escalate", value, threshold, reason)


def _decision(decision: Verdict, value: float, threshold: float, reason: str) -> GateDecision:
    return GateDecision(decision=decision, metric=value, threshold=threshold, reason=reason)


def _covered(words: Sequence[str], text: frozenset[str]) -> float:
    """Return the share of words that a text has; 1 without words."""
    return sum(word in text for word in words) / len(words) if words else 1.0
