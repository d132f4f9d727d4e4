"""A question of a conversation in its forms, and which of them it is about. Pure.

The forms are the question itself, the question with words of those before it, and all questions joined. None is best
for every turn: "and for juniors?" needs what came before, and "back to the oak, who sells it?" is misled by it. A
passage is scored by all of them together (relevance.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

NEAR = 0.4  # the score from which on what a question finds by itself may be what it is about,
AS_NEAR = 0.9  # and as a share of the best that it finds with words of those before it


class Form(NamedTuple):
    """A form's ranking, ids of chunks best first, and the cosines to it of the candidates of all forms."""

    ranking: Sequence[int]
    cosines: Mapping[int, float]


def chosen(forms: Sequence[Form], k: int) -> int:
    """The number of the form that a question is about: 0 where its own best of `k` is near, else 1."""
    if len(forms) == 1:
        return 0
    alone, joined = (
        max((form.cosines[id] for id in form.ranking[:k] if id in form.cosines), default=0.0) for form in forms[:2]
    )
    return 0 if alone >= max(NEAR, AS_NEAR * joined) else 1
