"""The kind of dialogue of a session: by its unit, and by its way to draw, of which a paper's figures need one more."""

from __future__ import annotations

from hocket_bus.messages import Begin

from .dialogue import Dialogue
from .paper.aggregator_dialogue import AggregatorDialogue
from .word.word_dialogue import WordDialogue


def dialogue_type(begin: Begin) -> type[Dialogue]:
    """Return the kind of dialogue that all parties of this session hold."""
    if begin.unit == "word":
        return WordDialogue
    return AggregatorDialogue if begin.method == "independent" else Dialogue
