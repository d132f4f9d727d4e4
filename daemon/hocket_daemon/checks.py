"""What can be asked of a daemon, and the one line that says why something cannot."""

from __future__ import annotations

from hocket_bus.errors import BadRequest
from hocket_bus.messages import AGGREGATIONS, MAX_QUESTION_CHARS, WEIGHTS, Ask


def check(ask: Ask) -> None:
    """Raises BadRequest for what cannot be asked."""
    if not ask.question.strip():
        raise BadRequest("the question is empty", "ask something")
    if len(ask.question) > MAX_QUESTION_CHARS:
        raise BadRequest(
            f"the question has {len(ask.question)} characters, the limit is {MAX_QUESTION_CHARS}", "shorten it"
        )
    if "" in ask.stop:
        raise BadRequest("a text to stop at is empty", "leave it out")
    for name, value, known in (("aggregation", ask.aggregation, AGGREGATIONS), ("weights", ask.weights, WEIGHTS)):
        if value not in known:
            raise BadRequest(f"unknown {name} '{value[:50]}'", f"use one of: {', '.join(known)}")
