"""What can be asked of a daemon, and the one line that says why something cannot."""

from __future__ import annotations

from hocket_bus.errors import BadRequest
from hocket_bus.messages import MAX_QUESTION_CHARS, METHODS, WEIGHTS, AggregationOptions, Ask


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
    options = ask.options or AggregationOptions()
    for name, value, known in (("aggregation", options.method, METHODS), ("weights", options.weights, WEIGHTS)):
        if value not in known:
            raise BadRequest(f"unknown {name} '{value[:50]}'", f"use one of: {', '.join(known)}")
