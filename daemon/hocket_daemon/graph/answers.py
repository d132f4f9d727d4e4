"""The gate `answers`, DGRAG's own: tests whether several answers written at home are sure and agree. Pure.

1. Confidence: an answer that says it does not know, or whose tokens were unlikely or drawn from flat distributions,
   escalates the question.
2. Similarity of each two answers: the mean of their cosine, of the Jaccard index of their words, and of that of their
   names and numbers, which are the core of what they claim.
3. The metric is the mean similarity of the best answer to the others. Below the threshold the question goes on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from hocket_bus.messages import GateDecision, Verdict

THRESHOLD = 0.75  # of similarity; not in the paper's first version, and chosen by nobody here
MIN_LOG_PROBABILITY = -1.5  # nats a token
MAX_ENTROPY = 2.5  # nats
_UNSURE = re.compile(
    r"(?i)\b(?:(?:do|does|did)(?: not|n['’]t) (?:know|say|mention|provide|contain|specify)"
    r"|(?:am|are|is) not (?:sure|clear|known)"
    r"|not (?:sure|certain|mentioned|specified|stated|given|provided|available)|no information"
    r"|cannot (?:answer|say|tell|be)"
    r"|can['’]t (?:answer|say|tell)|unclear|unknown|unable to|insufficient)\b"
)
_CLAIM = re.compile(r"(?<![.?!]\s)(?<!^)\b[A-Z]\w*|\w*\d\w*")


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer written at home: its text, and the means over its tokens of log-probability and entropy, in nats."""

    text: str
    log_probability: float
    entropy: float


def judge(candidates: Sequence[Candidate], cosines: Sequence[Sequence[float]]) -> GateDecision:
    """Decide by the answers; `cosines` are of each text with each other, [candidates, candidates]."""
    if doubt := _doubt(candidates):
        return _decision("escalate", 0.0, doubt)
    if len(candidates) < 2:
        return _decision("escalate", 0.0, "only one answer, so none to agree with")
    similar = {(i, j): similarity(candidates[i].text, candidates[j].text, cosines[i][j]) for i, j in _pairs(candidates)}
    of_each = [fmean(value for pair, value in similar.items() if at in pair) for at in range(len(candidates))]
    metric = max(of_each)
    if metric < THRESHOLD:
        return _decision("escalate", metric, f"the answers on this device differ: similarity {metric:.2f}")
    return _decision("home", metric, f"the answers on this device agree: similarity {metric:.2f}")


def similarity(one: str, other: str, cosine: float) -> float:
    """Return the similarity of two answers, in [0, 1]; `cosine` is that of their vectors."""
    words = _jaccard(frozenset(one.lower().split()), frozenset(other.lower().split()))
    claims = _jaccard(frozenset(_CLAIM.findall(one)), frozenset(_CLAIM.findall(other)))
    return fmean((max(0.0, cosine), words, claims))


def _doubt(candidates: Sequence[Candidate]) -> str:
    """Return why the answers are not sure of themselves; empty where they are."""
    if not candidates or not all(each.text.strip() for each in candidates):
        return "an answer on this device is empty"
    if any(_UNSURE.search(each.text) for each in candidates):
        return "an answer on this device says that it does not know"
    if (likely := fmean(each.log_probability for each in candidates)) < MIN_LOG_PROBABILITY:
        return f"the model finds the answers on this device unlikely: {likely:.2f} nats a token"
    if (flat := fmean(each.entropy for each in candidates)) > MAX_ENTROPY:
        return f"the answers on this device were drawn from flat distributions: {flat:.2f} nats"
    return ""


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Jaccard index; 1 of two empty sets."""
    return len(one & other) / len(one | other) if one | other else 1.0


def _pairs(candidates: Sequence[Candidate]) -> list[tuple[int, int]]:
    return list(combinations(range(len(candidates)), 2))


def _decision(decision: Verdict, metric: float, reason: str) -> GateDecision:
    return GateDecision(decision=decision, metric=metric, threshold=THRESHOLD, reason=reason)
