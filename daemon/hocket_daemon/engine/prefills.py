"""Prompts on their way: the oldest is read, a part of it in each forward pass, and then the next.

Those of somebody who is typing come before all others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
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
    urgent: bool = False
    segment: Segment = NOTHING


@dataclass(frozen=True, slots=True)
class _Ended:
    """What a prompt's passes return."""

    value: object


class Prefills:
    """The two queues of prompts. `append` is for any thread, everything else for the compute thread."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._urgent: deque[Prompt] = deque()
        self._waiting: deque[Prompt] = deque()

    def __len__(self) -> int:
        return len(self._urgent) + len(self._waiting)

    def append(self, prompt: Prompt) -> None:
        """To be read when all that came before, and all that are urgent, have ended."""
        self._queue(prompt).append(prompt)

    def begin(self) -> Prompt | None:
        """The first prompt that somebody wants, begun; those before it are ended."""
        for first in self._first():
            if first.segment is not NOTHING and not first.interrupt.is_set:
                return first
            self._post(*self.go_on(first, Preempted() if first.interrupt.is_set else None))
        return None

    def go_on(self, prompt: Prompt, read: object) -> list[News]:
        """Tell a prompt, the first of its queue, what its pass gave, None before the first; what is then told."""
        outcome = outcome_of(partial(_next_part, prompt.passes, read))
        if isinstance(outcome, Segment):
            prompt.segment = outcome
            return []
        self._queue(prompt).popleft()
        return [partial(prompt.done, outcome.value if isinstance(outcome, _Ended) else outcome)]

    def _first(self) -> Iterator[Prompt]:
        """The one whose turn it is, again and again."""
        while queue := self._urgent or self._waiting:
            yield queue[0]

    def _queue(self, prompt: Prompt) -> deque[Prompt]:
        return self._urgent if prompt.urgent else self._waiting


def _next_part(passes: Prefill[object], read: object) -> Segment | _Ended:
    """What `passes` asks for next, or returns, when it is sent what it asked for last or thrown why there is none."""
    try:
        return passes.throw(read) if isinstance(read, Exception) else passes.send(read)  # type: ignore[arg-type]
    except StopIteration as end:
        return _Ended(end.value)
