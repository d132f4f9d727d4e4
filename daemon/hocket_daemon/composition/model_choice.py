"""Which model completes texts on this machine: the one that answers, where it is quick enough here, or a small one.

Measured once, at the start: suggestions in a text that is typed word by word. One that is too slow twice is too slow.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from math import inf
from typing import NamedTuple

from hocket_bus.messages import SUGGESTED

from ..engine.language_model import LanguageModel
from ..engine.runtime.sequences import at_once
from ..engine.settings import AUTO, BUNDLED, TUNED
from .completion import Lookup, Path, Row, complete
from .reference import make_reference
from .window import TokenTexts, Window

QUICK_S = 0.25  # for a suggestion
SMALL = TUNED[BUNDLED]
TRIES = 2  # of a suggestion, since other programs start, too
TEXT = "The old mill stands where the river leaves the town, and its wheel has not turned since"
WORDS = 4  # of it that are typed one by one


class ModelChoice(NamedTuple):
    """`model` as under `[composition]`, empty for the one that answers; and why that."""

    model: str
    why: str


def chosen(model: str, answering: LanguageModel, quick_s: float = QUICK_S) -> ModelChoice:
    """What `[composition] model` means here; nothing is smaller than the bundled model, so that is not measured."""
    if model != AUTO:
        return ModelChoice(model, "")
    if answering.name in (BUNDLED, *TUNED.values()):
        return ModelChoice("", "")
    took_s = slowest_s(answering, quick_s)
    measured = f"a suggestion of {answering.name} takes {took_s * 1000:.0f} ms here"
    if took_s <= quick_s:
        return ModelChoice("", f"{measured}, {quick_s * 1000:.0f} at most")
    return ModelChoice(SMALL, f"{measured}, more than {quick_s * 1000:.0f}")


def slowest_s(model: LanguageModel, quick_s: float) -> float:
    """Of the suggestions behind each word, the quicker of its tries; the first that is too slow ends it."""
    words, row = TEXT.split(" "), Row(model)
    texts = [" ".join(words[:count]) for count in range(len(words) - WORDS, len(words) + 1)]
    slowest = 0.0
    try:
        _took_s(model, row, texts[0])  # reads the text, and pays for a model's first pass
        for text in texts[1:]:
            took = (_took_s(model, row, text) for _ in range(TRIES))
            slowest = max(slowest, _first_quick(took, quick_s))
            if slowest > quick_s:
                break
    finally:
        row.close()
    return slowest


def _first_quick(took: Iterator[float], quick_s: float) -> float:
    """The first that is quick enough, or the least of them."""
    minimum = inf
    for each in took:
        minimum = min(minimum, each)
        if minimum <= quick_s:
            break
    return minimum


def _took_s(model: LanguageModel, row: Row, text: str) -> float:
    """Seconds to a whole suggestion behind a text."""
    began_s = time.perf_counter()
    window = Window(text, "", model.continued(text))
    passes = complete(
        row,
        make_reference(model, (), "", None).ids,
        Path(window),
        TokenTexts(model),
        eos=model.eos,
        lookup=Lookup([window.ids]),
        enough=lambda path: len(path.tokens) >= SUGGESTED,
    )
    at_once(model, passes)
    return time.perf_counter() - began_s
