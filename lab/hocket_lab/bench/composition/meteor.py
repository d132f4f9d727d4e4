"""METEOR by exact words and stems (Banerjee and Lavie, 2005): the words matched, and the number of runs they form.

Stems are Porter's, as SQLite's full-text search makes them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import pairwise

Words = Sequence[str]
RECALL = 0.9  # the weight of recall in the mean of precision and recall
MAX_PENALTY, EXPONENT = 0.5, 3.0  # of matches that stand in runs of one


def meteor(label: Words, written: Words) -> float:
    """Return the METEOR score, in [0, 1)."""
    pairs = aligned(label, written)
    if not pairs:
        return 0.0
    precision, recall = len(pairs) / len(written), len(pairs) / len(label)
    mean = precision * recall / (RECALL * precision + (1 - RECALL) * recall)
    breaks = sum((after[0] - before[0], after[1] - before[1]) != (1, 1) for before, after in pairwise(pairs))
    penalty: float = MAX_PENALTY * ((1 + breaks) / len(pairs)) ** EXPONENT
    return mean * (1 - penalty)


def aligned(label: Words, written: Words) -> list[tuple[int, int]]:
    """Return (place in `written`, place in `label`) of the words that are matched, in the order of `written`.

    Equal words are matched first, then those of equal stems; a word takes the place after the last match if it can.
    """
    found: dict[int, int] = {}
    for mine, theirs in ((written, label), (stems(written), stems(label))):
        for place, word in enumerate(mine):
            if place in found:
                continue
            free = [at for at, other in enumerate(theirs) if other == word and at not in found.values()]
            if free:
                next_to = found.get(place - 1, -2) + 1
                found[place] = next_to if next_to in free else free[0]
    return sorted(found.items())


def stems(words: Words) -> list[str]:
    """Return each word's stem; punctuation marks and words without a stem stay as they are."""
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE VIRTUAL TABLE text USING fts5 (word, tokenize = 'porter unicode61')")
        base.execute("CREATE VIRTUAL TABLE terms USING fts5vocab (text, instance)")
        base.executemany("INSERT INTO text (rowid, word) VALUES (?, ?)", list(enumerate(words)))
        known: dict[int, str] = dict(base.execute("SELECT doc, term FROM terms"))
    base.close()
    return [known.get(at, word) for at, word in enumerate(words)]
