"""Similarity of a completion to the text that was really written: n-grams and common subsequences of their words.

A word is a run of letters and digits in lower case, or a single other mark. Every value is in [0, 1].
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from .meteor import meteor

ORDERS = range(1, 5)  # of the n-grams
_WORD = re.compile(r"\w+|[^\w\s]")
Words = Sequence[str]
Metric = Callable[[Words, Words], float]


def words_of(text: str) -> list[str]:
    """Return the words of a text."""
    return _WORD.findall(text.lower())


def gleu(label: Words, written: Words) -> float:
    """Return GLEU: common n-grams of one to four words over those of the longer text (Wu et al., 2016)."""
    common, of_label, of_written = (sum(counts) for counts in zip(*_counts(label, written), strict=True))
    maximum = max(of_label, of_written)
    return common / maximum if maximum else 0.0


def bleu4(label: Words, written: Words) -> float:
    """Return BLEU of one sentence: orders above one are smoothed by adding one (Lin and Och, 2004)."""
    counts = list(_counts(label, written))
    if not counts[0][0]:
        return 0.0
    shares = [
        math.log((common + smooth) / (of_written + smooth))
        for smooth, (common, _, of_written) in zip((0, 1, 1, 1), counts, strict=True)
    ]
    return math.exp(min(0.0, 1 - len(label) / len(written)) + sum(shares) / len(shares))


def rouge1(label: Words, written: Words) -> float:
    """Return the F1 of their words (Lin, 2004)."""
    return _f1((Counter(label) & Counter(written)).total(), label, written)


def rouge_l(label: Words, written: Words) -> float:
    """Return the F1 of the longest common subsequence of their words (Lin, 2004)."""
    lengths = [0] * (len(written) + 1)
    for word in label:
        diagonal = 0
        for at, other in enumerate(written, start=1):
            above = lengths[at]
            lengths[at] = diagonal + 1 if word == other else max(above, lengths[at - 1])
            diagonal = above
    return _f1(lengths[-1], label, written)


METRICS: Mapping[str, Metric] = {
    "gleu": gleu, "bleu4": bleu4, "rouge1": rouge1, "rougeL": rouge_l, "meteor": meteor,
}  # fmt: skip


def _counts(label: Words, written: Words) -> list[tuple[int, int, int]]:
    """Return, for each order, the numbers of common n-grams, of the label's and of those that were written."""
    both = [(_grams(label, order), _grams(written, order)) for order in ORDERS]
    return [((one & other).total(), one.total(), other.total()) for one, other in both]


def _grams(words: Words, order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[at:] for at in range(order)), strict=False))


def _f1(common: int, label: Words, written: Words) -> float:
    return 2 * common / (len(label) + len(written)) if common else 0.0
