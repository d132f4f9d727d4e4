"""Prompts on their way: the oldest is read, a part of it in each forward pass, and then the next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from .outcome import News, Post, outcome_of
from .preemption import Interrupt, Preempted
from .segments import NOTHING, Segment
from .sequences import Prefill


@dataclass(slots=True, eq=False)
class Prompt:
    """`segment` is what the next pass appends of it, NOTHING before it has begun; `done` gets what it ends with."""

    passes: Prefill[Any]
    interrupt: Interrupt
    done: Callable[[Any], None]
    segment: Segment = NOTHING


@dataclass(frozen=True, slots=True)
class _Ended:
    """What a prompt's passes return."""

    value: object


class Prefills:
    """The queue of prompts. `append` is for any thread, everything else for the compute thread."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._waiting: deque[Prompt] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def append(self, prompt: Prompt) -> None:
        """To be read when all that came before have ended."""
        self._waiting.append(prompt)

    def begin(self) -> Prompt | None:
        """The oldest prompt that somebody wants, begun; those before it are ended."""
        while self._waiting:
            oldest = self._waiting[0]
            if oldest.segment is not NOTHING and not oldest.interrupt.is_set:
                return oldest
            self._post(*self.go_on(Preempted() if oldest.interrupt.is_set else None))
        return None

    def go_on(self, read: object) -> list[News]:
        """Tell the oldest prompt what its pass gave, None before the first one; what there is to hand over then."""
        oldest = self._waiting[0]
        outcome = outcome_of(partial(_next_part, oldest.passes, read))
        if isinstance(outcome, Segment):
            oldest.segment = outcome
            return []
        self._waiting.popleft()
        return [partial(oldest.done, outcome.value if isinstance(outcome, _Ended) else outcome)]


def _next_part(passes: Prefill[object], read: object) -> Segment | _Ended:
    """What `passes` asks for next, or returns, when it is sent what it asked for last or thrown why there is none."""
    try:
        return passes.throw(read) if isinstance(read, Exception) else passes.send(read)  # type: ignore[arg-type]
    except StopIteration as end:
        return _Ended(end.value)
