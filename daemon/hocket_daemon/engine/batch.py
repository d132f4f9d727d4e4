"""One forward pass for all: a decode request of every session that waits for one, and a part of a prompt
(docs/engine.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np

from .preemption import Interrupt
from .segments import NOTHING, Segment
from .sequences import SequenceGroup
from .voice import Rows

T = TypeVar("T")
Read: TypeAlias = Callable[[Sequence[Segment], Interrupt], list[Rows]]


@dataclass(frozen=True, slots=True, eq=False)
class DecodeRequest(Generic[T]):
    """The distributions behind `tokens` are wanted: `then` makes of [rows, vocabulary] what the session needs."""

    group: SequenceGroup
    tokens: list[int]
    then: Callable[[Rows], T]
    interrupt: Interrupt


class Decoded(NamedTuple, Generic[T]):
    """What became of a request, and how many rows were decoded together with its own."""

    value: T
    rows: int


def decode(
    read: Read, requests: Sequence[DecodeRequest[T]], interrupt: Interrupt, prompt: Segment = NOTHING
) -> tuple[list[Decoded[T]], Rows]:
    """All requests, of which each session has at most one, and `prompt` by one pass of the voice's `read`.

    Returns what became of the requests, and probabilities [rows, vocabulary] of what follows the prompt's rows. Raises
    Preempted when nobody wants the pass any more.
    """
    segments = [request.group.roll_back(request.tokens) for request in requests]
    appended = [segment for segment in (*segments, prompt) if segment.rows]
    found = iter(read(appended, interrupt) if appended else [])
    taken = [
        request.group.take(request.tokens, next(found) if segment.rows else None)
        for request, segment in zip(requests, segments, strict=True)
    ]
    rows = sum(map(len, taken))
    behind = next(found, np.empty((0, 0), np.float32))
    return [Decoded(request.then(each), rows) for request, each in zip(requests, taken, strict=True)], behind
