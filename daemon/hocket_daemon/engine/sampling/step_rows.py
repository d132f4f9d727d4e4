"""Choose the rows of a step: those with a weight, and the question's own where contrast changes what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from .heads import Contrast, Heads, is_contrasted


def _never(_: Heads) -> bool:
    return False


class StepRows(NamedTuple):
    """The rows of a step: `places` in a group, None for all; others follow `later` if the first results `ask` for them.

    Before the first token of an answer no later rows may be asked for.
    """

    places: Sequence[int] | None = None
    later: Sequence[int] = ()
    asks: Callable[[Heads], bool] = _never


ALL = StepRows()


def step_rows(weights: Sequence[float], contrast: Contrast | None, *, one_by_one: bool) -> StepRows:
    """Return the rows for `made_of`. With `one_by_one` the question's row, as costly as a pass, may come later."""
    if contrast is None or not one_by_one:
        return StepRows(decoded(weights, contrast))
    return StepRows(decoded(weights, None), [len(weights)], partial(is_contrasted, contrast=contrast))


def decoded(weights: Sequence[float], contrast: Contrast | None) -> list[int]:
    """Places of the rows that `made` depends on: those that weigh anything, and the last where they are contrasted."""
    heavy = [place for place, weight in enumerate(weights) if weight > 0]
    return [*heavy, len(weights)] if contrast is not None or not weights else heavy
