"""One decode step of every session that waits for one, in one forward pass (docs/batching.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .preemption import Interrupt, Together
from .reading import Reading

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Step(Generic[T]):
    """The distribution behind `answer` is wanted; `then` makes of the rows' distributions what the session needs."""

    reading: Reading
    answer: list[int]
    then: Callable[[NDArray[np.float32]], T]
    interrupt: Interrupt


class Decoded(NamedTuple, Generic[T]):
    """What became of a step, and how many rows were decoded together with its own."""

    value: T
    rows: int


def decode(steps: Sequence[Step[T]], interrupt: Together) -> list[Decoded[T]]:
    """All steps by one pass; each session has at most one of them. Raises Preempted when none is wanted any more."""
    feeds = [step.reading.feed(step.answer) for step in steps]
    fed = [feed for feed in feeds if feed.rows]
    read = iter(steps[0].reading.model.read(fed, interrupt) if fed else [])
    taken = [
        step.reading.take(step.answer, next(read) if feed.rows else None)
        for step, feed in zip(steps, feeds, strict=True)
    ]
    rows = sum(map(len, taken))
    return [Decoded(step.then(each), rows) for step, each in zip(steps, taken, strict=True)]
