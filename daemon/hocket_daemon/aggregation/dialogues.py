"""The kind of dialogue for each way to draw: what only the papers' figures need stands in paper/."""

from __future__ import annotations

from hocket_bus.messages import Method

from .dialogue import Dialogue
from .paper.aggregator_dialogue import AggregatorDialogue

_TYPES: dict[Method, type[Dialogue]] = {"independent": AggregatorDialogue}


def dialogue_type(method: Method) -> type[Dialogue]:
    """Return the kind of dialogue that both sides of a session with this method hold."""
    return _TYPES.get(method, Dialogue)
