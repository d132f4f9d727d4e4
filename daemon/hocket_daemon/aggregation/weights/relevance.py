"""Weights from retrieval scores: documents within a side, and sides against each other (paper §4.1, A.1).

Dynamic weights are a function of the answer's tokens alone: those of step t come from the prefix of length
n·⌊t/n⌋ - n, so that both sides weigh alike however late a score arrives, and a scorer has n steps' time.
"""

from __future__ import annotations

import math
import re

REWEIGHED = frozenset(("dynamic", "likelihood"))  # the ways that weigh again by the sentence under way
BY_LIKELIHOOD = frozenset(("likelihood",))  # those that weigh by how much of the question each passage explains

NEWS = 0.5  # of a rise in a passage's score, counted once more: chosen on questions apart from those reported

_SENTENCE_END = re.compile(r"[.!?][\"')\]]*\s+|\n+")
_FEWEST_WORDS = 2
_ROUNDING = 1e-6


def claims(weights: str, documents: int, temperature: float) -> tuple[float, float]:
    """The least and the largest log h of at most so many documents whose scores lie in [-1, 1]; all 0 with `off`."""
    maximum = 0.0 if weights == "off" else 1.0 / temperature
    rounding = _ROUNDING * (1.0 + maximum)
    return -maximum - rounding, maximum + math.log(max(1, documents)) + rounding


def weighed_by(step: int, every: int) -> int:
    """The length of the prefix that weighs `step`; 0 means the question itself."""
    return max(0, every * (step // every) - every)


def compared(weights: str, sentence: list[float], question: list[float]) -> list[float]:
    """The scores that weigh passages while a sentence is under way, from those against it and against the question.

    A passage that explains none of the question may hold what the answer has led to: its score has risen since.
    """
    if weights not in BY_LIKELIHOOD:
        return sentence
    return [max(-1.0, min(1.0, now + NEWS * (now - before))) for now, before in zip(sentence, question, strict=True)]


def query(question: str, answer: str) -> str:
    """Return the text that passages are compared with while `answer` is written: its last sentence, once begun.

    A sentence that restates its part of the question tells the passages of the parts apart, which the whole question
    cannot.
    """
    sentence = _SENTENCE_END.split(answer)[-1].strip()
    return sentence if len(sentence.split()) >= _FEWEST_WORDS else question
