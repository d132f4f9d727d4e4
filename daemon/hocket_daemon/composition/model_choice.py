"""The choice of the model that completes texts on this machine: the one that answers, if quick enough, or a small one.

Measured at the start, unless `hocket model get` has measured that it is too slow. Other programs start then, too, so
the quickest of several passes counts.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from hocket_bus.messages import SUGGESTED

from ..engine.catalog.checking import PAIR
from ..engine.language_model import LanguageModel
from ..engine.segments import Segment
from ..engine.settings import AUTO, BUNDLED, TUNED

QUICK_S = 0.25  # for a suggestion, in a text that is typed word by word
SMALL = TUNED[BUNDLED]
TEXT = "The old mill stands where the river leaves the town, and its wheel has not turned since"
PASSES = 6  # the first ones pay for what is made once


class ModelChoice(NamedTuple):
    """The `model` as under `[composition]`, empty for the one that answers, and why it was chosen."""

    model: str
    why: str


def chosen(model: str, answering: LanguageModel, step_s: float = 0.0, quick_s: float = QUICK_S) -> ModelChoice:
    """Choose the model that `[composition] model` means here; the bundled one, the smallest, is not measured.

    `step_s` are the known seconds of a step of PAIR rows (checking.py), 0 where nothing is known.
    """
    if model != AUTO:
        return ModelChoice(model, "")
    if answering.name in (BUNDLED, *TUNED.values()):
        return ModelChoice("", "")
    least_s = SUGGESTED * step_s / PAIR
    if least_s > quick_s:
        why = f"a suggestion of {answering.name} takes at least {least_s * 1000:.0f} ms here"
        return ModelChoice(SMALL, f"{why}, more than {quick_s * 1000:.0f}")
    took_s = suggestion_s(answering)
    measured = f"a suggestion of {answering.name} takes {took_s * 1000:.0f} ms here"
    if took_s <= quick_s:
        return ModelChoice("", f"{measured}, {quick_s * 1000:.0f} at most")
    return ModelChoice(SMALL, f"{measured}, more than {quick_s * 1000:.0f}")


def suggestion_s(model: LanguageModel) -> float:
    """Return the seconds of a suggestion each of whose tokens takes a pass of its own."""
    ids, rows = model.prompt(TEXT, "complete"), model.slots.take(1)
    try:
        model.read([Segment(rows, [ids[:-PASSES]])])
        return SUGGESTED * min(_pass_s(model, rows, id) for id in ids[-PASSES:])
    finally:
        model.slots.give_back(rows)


def _pass_s(model: LanguageModel, rows: list[int], id: int) -> float:
    began_s = time.perf_counter()
    model.read([Segment(rows, [[id]])])
    return time.perf_counter() - began_s
