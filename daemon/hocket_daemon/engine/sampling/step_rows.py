"""Choose the rows of a step: those with a weight, and the question's own where contrast changes what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from .heads import Contrast, Heads, is_contrasted


def _never(_: Heads) -> bool:
    return False


class StepRows(NamedTuple):
    """`places` of a group's rows, None: all; and others that are wanted `later`, if what the first say `asks` for them.

    Without an answer yet nothing may be asked for.
    """

    places: Sequence[int] | None = None
    later: Sequence[int] = ()
    asks: Callable[[Heads], bool] = _never


ALL = StepRows()


def step_rows(weights: Sequence[float], contrast: Contrast | None, *, one_by_one: bool) -> StepRows:
    """For `made_of`. `one_by_one`: where a row costs as much as a pass the question's waits for what the others say."""
    if contrast is None or not one_by_one:
        return StepRows(decoded(weights, contrast))
    return StepRows(decoded(weights, None), [len(weights)], partial(is_contrasted, contrast=contrast))


def decoded(weights: Sequence[float], contrast: Contrast | None) -> list[int]:
    """Places of the rows that `made` depends on: those that weigh anything, and the last where they are contrasted."""
    heavy = [place for place, weight in enumerate(weights) if weight > 0]
    return [*heavy, len(weights)] if contrast is not None or not weights else heavy
