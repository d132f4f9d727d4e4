"""Tokens that an answer likely copies, read ahead in one pass with the token before them.

An answer copies names, dates and numbers from its prompts, and repeats itself. The tokens that followed its last ones
there are proposed and read along. The distribution after each of them is then known, should the answer go that way. The
draw does not depend on it, so no token changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..sampling.heads import Heads
from .lookup import Lookup

MOST = 7  # tokens that are proposed at once
DEPTH = 16  # tokens before a place by which it is compared
MISSES = 4  # that a match of one token makes likely


def worth(similar: int, share: float) -> int:
    """Return how many tokens to propose after `similar` equal ones, where tokens are that `share` of a pass's cost.

    The first j of them are taken to be right with probability similar / (similar + MISSES j). One more token of every
    row is worth its part of the pass where it saves, so likely, as much of another one.
    """
    return next((j for j in range(MOST) if similar / (similar + MISSES * (j + 1)) <= share), MOST) if similar else 0


def proposal(lookup: Lookup, answer: Sequence[int], share: float) -> list[int]:
    """Propose the tokens that last followed the longest end of `answer` in the texts or in itself, as many as pay."""
    if not worth(DEPTH, share):
        return []
    texts = lookup.beside(answer)
    depth = texts.depth(answer, DEPTH)
    place = len(depth) - 1 - int(depth[::-1].argmax())
    return texts.following(place, worth(int(depth[place]), share))


@dataclass(frozen=True, slots=True)
class ReadAhead:
    """The heads of each row after the first `own` of `tokens`, which were asked for, and after every further one."""

    tokens: list[int]
    own: int
    heads: Heads

    def behind(self, tokens: Sequence[int]) -> Heads | None:
        """Return each row's heads after `tokens`; None where they are not known."""
        at = len(tokens) - self.own
        width = len(self.tokens) - self.own + 1
        known = 0 <= at < width and self.tokens[: len(tokens)] == list(tokens)
        return self.heads.of_each(at, width) if known else None
