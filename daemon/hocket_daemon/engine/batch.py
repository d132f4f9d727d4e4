"""One forward pass for all: a decode step of every session that waits for one, and a part of a prompt
(docs/batching.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from .preemption import Interrupt
from .sequences import SequenceGroup
from .slots import Segment

T = TypeVar("T")
Rows: TypeAlias = NDArray[np.float32]
Read: TypeAlias = Callable[[Sequence[Segment], Interrupt], list[Rows]]
NOTHING = Segment([], [])


@dataclass(frozen=True, slots=True, eq=False)
class DecodeRequest(Generic[T]):
    """The distribution behind `answer` is wanted; `then` makes of the rows' distributions what the session needs."""

    reading: SequenceGroup
    answer: list[int]
    then: Callable[[Rows], T]
    interrupt: Interrupt


class Decoded(NamedTuple, Generic[T]):
    """What became of a step, and how many rows were decoded together with its own."""

    value: T
    rows: int


def decode(
    read: Read, steps: Sequence[DecodeRequest[T]], interrupt: Interrupt, prompt: Segment = NOTHING
) -> tuple[list[Decoded[T]], Rows]:
    """All steps, of which each session has at most one, and `prompt` by one pass of the model's `read`.

    Returns what became of the steps, and probabilities [rows, vocabulary] of what follows the prompt's rows. Raises
    Preempted when nobody wants the pass any more.
    """
    feeds = [step.reading.feed(step.answer) for step in steps]
    fed = [feed for feed in (*feeds, prompt) if feed.rows]
    found = iter(read(fed, interrupt) if fed else [])
    taken = [
        step.reading.take(step.answer, next(found) if feed.rows else None)
        for step, feed in zip(steps, feeds, strict=True)
    ]
    rows = sum(map(len, taken))
    behind = next(found, np.empty((0, 0), np.float32))
    return [Decoded(step.then(each), rows) for step, each in zip(steps, taken, strict=True)], behind
