"""The sentences of passages that are nearest a query: an extract, written by nobody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .chunking import sentences
from .embedder import Embedder
from .search import Passage

MAX_SENTENCES = 48  # that are embedded for one query: about 5 ms each on one core
WITHIN = 0.2  # of the nearest sentence's cosine: what is further away is about something else
MIN_WORDS = 4  # of a sentence that says anything by itself
JOINED = " "


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a document on one line, and the cosine of query and sentence in [-1, 1]."""

    document: str
    text: str
    score: float


def extract(embedder: Embedder, query: str, passages: Sequence[Passage], count: int) -> list[Sentence]:
    """At most `count` sentences of `passages` that are about as near as the nearest, which is first; all different."""
    found: dict[str, str] = {}
    for passage in passages:
        for text in _sentences(passage.text):
            found.setdefault(text, passage.document)
    texts = list(found)[:MAX_SENTENCES]
    if not texts:
        return []
    scores = np.clip(embedder.documents(texts) @ embedder.query(query), -1, 1)
    best = np.argsort(-scores, kind="stable")[:count]
    minimum = scores[best[0]] - WITHIN
    return [Sentence(found[texts[at]], texts[at], float(scores[at])) for at in best if scores[at] >= minimum]


def _sentences(text: str) -> list[str]:
    """Those with enough words, each on one line."""
    words = [text[start:end].split() for start, end in sentences(text)]
    return [JOINED.join(each) for each in words if len(each) >= MIN_WORDS]
