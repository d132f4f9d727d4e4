"""What is searched for a question of a conversation: the question, and what it refers to."""

from __future__ import annotations

from hocket_bus.messages import MAX_QUESTION_CHARS, Prompt


def search_text(prompt: Prompt) -> str:
    """The query itself where no turn came before it."""
    return prompt.query[:MAX_QUESTION_CHARS]
