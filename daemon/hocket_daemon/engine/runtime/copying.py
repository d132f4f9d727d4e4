"""Tokens that an answer likely copies, read in one pass with the token before them, and what was so found out.

An answer copies names, dates and numbers from its prompts, and repeats itself. What followed its last tokens there is
proposed and read along; what follows each of them is then known, should the answer come that way. The draw knows
nothing of it, so no token is another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..sampling.heads import Heads
from .lookup import Lookup

MOST = 7  # tokens that are proposed at once
DEPTH = 16  # tokens before a place by which it is compared
MISSES = 4  # that a match of one token makes likely


def worth(alike: int, share: float) -> int:
    """How many tokens are worth proposing behind `alike` ones, where tokens are that `share` of the cost of a pass.

    The first j of them are taken to be right with probability alike / (alike + MISSES j). One more token of every row
    is worth its part of the pass where it saves, so likely, as much of another one.
    """
    return next((j for j in range(MOST) if alike / (alike + MISSES * (j + 1)) <= share), MOST) if alike else 0


def proposal(lookup: Lookup, answer: Sequence[int], share: float) -> list[int]:
    """What followed the longest end of `answer` in the texts or in itself, the last time; as much as is worth it."""
    if not worth(DEPTH, share):
        return []
    texts = lookup.beside(answer)
    depth = texts.depth(answer, DEPTH)
    place = len(depth) - 1 - int(depth[::-1].argmax())
    return texts.following(place, worth(int(depth[place]), share))


@dataclass(frozen=True, slots=True)
class ReadAhead:
    """What follows the rows behind the last tokens of `tokens`, of which `own` were asked for: `heads` of each row."""

    tokens: list[int]
    own: int
    heads: Heads

    def behind(self, tokens: Sequence[int]) -> Heads | None:
        """What follows `tokens`, if that was found out."""
        at = len(tokens) - self.own
        width = len(self.tokens) - self.own + 1
        known = 0 <= at < width and self.tokens[: len(tokens)] == list(tokens)
        return self.heads.of_each(at, width) if known else None
