"""A question of a conversation in its forms: which one scores, and one order of what all of them find. Pure.

The forms are the question itself, the question with words of those before it, and all questions joined. None is best
for every turn: "and for juniors?" needs what came before, and "back to the oak, who sells it?" is misled by it. A
passage's place is by the sum of six parts, each in [0, 1] or a cosine, all of one weight: with fitted weights nothing
was found more often (lab log).
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


def scoring(forms: Sequence[Form], k: int) -> int:
    """The number of the form whose scores count: 0 where the question's own best of `k` is near, else 1."""
    if len(forms) == 1:
        return 0
    alone, joined = (
        max((form.cosines[id] for id in form.ranking[:k] if id in form.cosines), default=0.0) for form in forms[:2]
    )
    return 0 if alone >= max(NEAR, AS_NEAR * joined) else 1


def together(forms: Sequence[Form], chosen: int, shares: Mapping[int, float]) -> list[int]:
    """All candidates, best first. `shares` is how much of the question's own words each has, in [0, 1].

    The six parts are `shares`, the three cosines, and one over the place in the chosen form and in the last.
    """
    ranked = [{id: 1.0 / place for place, id in enumerate(form.ranking, 1)} for form in (forms[chosen], forms[-1])]

    def worth(id: int) -> float:
        return shares[id] + sum(form.cosines[id] for form in forms) + sum(each.get(id, 0.0) for each in ranked)

    return sorted(shares, key=lambda id: -worth(id))
