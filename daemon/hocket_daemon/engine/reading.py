"""The amount that a side's model reads for a question: as much as keeps nobody waiting, and earlier turns or none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from hocket_bus.messages import Prompt

from .language_model import LanguageModel, Shape
from .settings import ReadsTurns

MIN_WORDS, MAX_WORDS = 64, 512
FEW, MANY = 2, 4
SMALL = 400_000_000  # weights, below which a model repeats what it answered before (lab log)
_SERVER_WORDS = 256  # what it holds is not known: four such passages and an answer go into 2,048 tokens


class Reading(NamedTuple):
    """Words of a passage, passages for a question that sets no number, and whether turns are read with passages."""

    words: int
    passages: int
    turns: bool = True

    def __str__(self) -> str:
        """Describe it for `hocket status`."""
        turns = "" if self.turns else ", without earlier turns"
        return f"{self.passages} passages of up to {self.words} words{turns}"

    def prompt(self, prompt: Prompt, passages: Sequence[str]) -> Prompt:
        """Return the prompt as it is read after these passages; the search for them may have used more of it."""
        return prompt if self.turns or not passages else msgspec.structs.replace(prompt, turns=[])


def reading_of(model: LanguageModel, rows: int, turns: ReadsTurns, *, is_server: bool) -> Reading:
    """Choose the reading of a model with `rows` for each session; a server reads all passages in one, and all turns.

    A passage has no more tokens than one forward pass reads, nor than half of the context: a processor without a GPU
    reads a paragraph, and a GPU a section. With a small model more words do harm besides (lab log).
    """
    if is_server:
        return Reading(_SERVER_WORDS, MANY)
    tokens = min(model.prefill_tokens, model.slots.context // 2)
    is_small = 0 < _weights(model.shape) < SMALL  # a server's is not known
    reads_turns = turns == "always" or (turns == "auto" and not is_small)
    return Reading(max(MIN_WORDS, min(MAX_WORDS, tokens // 2)), max(FEW, min(MANY, rows - 1)), reads_turns)


def _weights(shape: Shape) -> int:
    """Estimate the number of weights of a transformer of this shape, all heads with keys of their own."""
    layer = 4 * shape.width**2 + 3 * shape.width * shape.feed_forward
    return shape.layers * layer + shape.vocabulary * shape.width
