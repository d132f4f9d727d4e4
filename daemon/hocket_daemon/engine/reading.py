"""How much of a side's documents its model reads for a question: what it reads without keeping anybody waiting."""

from __future__ import annotations

from typing import NamedTuple

from .language_model import LanguageModel

MIN_WORDS, MAX_WORDS = 64, 512
FEW, MANY = 2, 4
_SERVER_WORDS = 256  # what it holds is not known: four such passages and an answer go into 2,048 tokens


class Reading(NamedTuple):
    """Words of a passage, and passages for a question that says no number."""

    words: int
    passages: int


def reading_of(model: LanguageModel, rows: int, *, is_server: bool) -> Reading:
    """Of a model with so many `rows` for each session; a server reads all passages in one.

    A passage has no more tokens than one forward pass reads, nor than half of the context: a processor without a GPU
    reads a paragraph, and a GPU a section. With a small model more words do harm besides (lab log).
    """
    if is_server:
        return Reading(_SERVER_WORDS, MANY)
    tokens = min(model.prefill_tokens, model.slots.context // 2)
    return Reading(max(MIN_WORDS, min(MAX_WORDS, tokens // 2)), max(FEW, min(MANY, rows - 1)))
