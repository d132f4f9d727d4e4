"""Words of an answer that no passage supports. Pure.

Each side looks through its own passages; a word is unsupported where both find it in none. A word that was asked for,
in the question or in a program's instructions, needs no support.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from hocket_bus.messages import MAX_UNSUPPORTED, Passage, Prompt, Span
from hocket_retrieval.text.heads import searched
from hocket_retrieval.text.lexical import missing_words

MIN_UNFOUNDED = 3
UNFOUNDED = "most of its words are in no passage, so it may be invented"


def unsupported(text: str, prompt: Prompt, passages: Sequence[str]) -> list[Span]:
    """Return the unsupported words of an answer, which begins with no blank, as at most MAX_UNSUPPORTED spans."""
    said = [part for turn in prompt.turns for part in (turn.query, turn.answer)]
    missing = missing_words(text, [*passages, prompt.query, prompt.system, *said])
    return [Span(start=start, end=end) for start, end in missing[:MAX_UNSUPPORTED]]


def is_unfounded(text: str, found: Sequence[Span]) -> bool:
    """Tell whether the `found` unsupported words are most of an answer's telling words, and at least MIN_UNFOUNDED."""
    return len(found) >= MIN_UNFOUNDED and 2 * len(found) > len(missing_words(text, []))


def lacking(
    decode: Callable[[list[int]], str], prompt: Prompt, passages: Sequence[Passage]
) -> Callable[[list[int]], list[Span]]:
    """Return a function that finds the unsupported words in the text of ids, as `decode` reads it."""
    texts = list(map(searched, passages))
    return lambda ids: unsupported(decode(ids).lstrip(), prompt, texts)


def agreed(own: Sequence[Span], others: Iterable[Span] | None) -> list[Span]:
    """Return what both sides found unsupported; None: no other side has read anything."""
    theirs = None if others is None else set(others)
    return [span for span in own if theirs is None or span in theirs]
