"""The compute thread: jobs go in from the main thread, their outcomes come back on it (docs/batching.md).

In turn: all short jobs, one decode step of every session that waits for one, one forward pass of the oldest prompt.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, TypeVar

import structlog

from hocket_bus.errors import HocketError

from .engine.batch import Decoded, Step, decode
from .engine.preemption import Preempted, Together

T = TypeVar("T")
Post = Callable[[Callable[[], None]], None]
Passes = Generator[None, None, T]
_MORE = object()
log = structlog.get_logger(__name__)


class Compute:
    """One thread; whatever its jobs lead to runs on the main thread, through `post`."""

    def __init__(self, post: Post, hold_decode_s: float) -> None:
        """`hold_decode_s` lengthens decode steps, for benchmarks."""
        self.steps = 0  # of sessions, decoded so far
        self.batches = 0  # forward passes that decoded them
        self.rows = 0  # their rows
        self._post = post
        self._hold_s = hold_decode_s
        self._jobs: deque[tuple[Callable[[], Any], Callable[[Any], None]]] = deque()
        self._steps: list[tuple[Step[Any], Callable[[Any], None]]] = []
        self._prompts: deque[tuple[Passes[Any], Callable[[Any], None]]] = deque()
        self._seen = True  # the main thread has seen what the last batch gave, and may have asked for the next steps
        self._advanced = False  # a prompt, since the last batch
        self._open = True
        self._news = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="compute", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Decode steps and prompts that have not begun, or not ended."""
        return len(self._steps) + len(self._prompts)

    def fact(self) -> str:
        """A line for `hocket status`."""
        batches = max(1, self.batches)
        return f"{self.steps / batches:.1f} session(s), {self.rows / batches:.1f} row(s) a step; {self.waiting} waiting"

    def figures(self) -> dict[str, float]:
        """The same for programs, as counts since the start."""
        counted = {"batches": self.batches, "batch_steps": self.steps, "batch_rows": self.rows}
        return {name: float(count) for name, count in (counted | {"waiting": self.waiting}).items()}

    def run(self, job: Callable[[], T], done: Callable[[T | HocketError], None]) -> None:
        """Run a short `job` on the compute thread and `done` on the main thread."""
        self._tell(lambda: self._jobs.append((job, done)))

    def prefill(self, passes: Passes[T], done: Callable[[T | HocketError | Preempted], None]) -> None:
        """Run `passes` to its end, the steps of others between any two of its parts; `done` gets what it returns."""
        self._tell(lambda: self._prompts.append((passes, done)))

    def decode(self, step: Step[T], done: Callable[[Decoded[T] | HocketError | Preempted], None]) -> None:
        """Decode `step` together with whatever else waits by then.

        `done` gets a Preempted when the interrupts of all of them were set before the end.
        """
        self._tell(lambda: self._steps.append((step, done)))

    def close(self) -> None:
        """Drop what has not begun and wait for the rest."""

        def end() -> None:
            self._open = False

        self._tell(end)
        self._thread.join()

    def _tell(self, change: Callable[[], None]) -> None:
        with self._news:
            change()
            self._news.notify()

    # Everything below runs on the compute thread, except _on_seen.

    def _run(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(self._has_work)
                if not self._open:
                    return
            while self._jobs:
                job, done = self._jobs.popleft()
                self._hand_over(_outcome(job), done)
            if self._steps and self._seen:
                self._decode()
            if self._prompts and self._may_advance():
                self._prefill()

    def _has_work(self) -> bool:
        prompts = self._prompts and self._may_advance()
        return bool(self._jobs or prompts or (self._steps and self._seen) or not self._open)

    def _may_advance(self) -> bool:
        """A prompt advances once beside what a batch leads to, and then only when that has led to no steps."""
        return self._seen or not self._advanced

    def _decode(self) -> None:
        with self._news:
            waiting, self._steps = self._steps, []
        wanted = [(step, done) for step, done in waiting if not step.interrupt.is_set]
        for step, done in waiting:
            if (step, done) not in wanted:
                self._hand_over(Preempted(), done)
        if not wanted:
            return
        outcome = _outcome(partial(self._batch, [step for step, _ in wanted]))
        for at, (_, done) in enumerate(wanted):
            self._hand_over(outcome[at] if isinstance(outcome, list) else outcome, done)
        self._advanced = False
        if isinstance(outcome, Preempted):  # whoever interrupts has asked for the next step by then
            return
        if len(wanted) > 1 or self._steps or self._prompts:  # a session that is alone has nobody to wait for
            self._seen = False
            self._post(self._on_seen)

    def _batch(self, steps: list[Step[Any]]) -> list[Decoded[Any]]:
        started_s, interrupt = time.monotonic(), Together([step.interrupt for step in steps])
        decoded = decode(steps, interrupt)
        if self._hold_s and interrupt.wait(started_s + self._hold_s - time.monotonic()):
            raise Preempted
        self.batches, self.steps, self.rows = self.batches + 1, self.steps + len(steps), self.rows + decoded[0].rows
        return decoded

    def _prefill(self) -> None:
        passes, done = self._prompts[0]
        outcome = _outcome(partial(_part, passes))
        self._advanced = True
        if outcome is not _MORE:
            self._prompts.popleft()
            self._hand_over(outcome, done)

    def _hand_over(self, outcome: object, done: Callable[[Any], None]) -> None:
        self._post(partial(done, outcome))

    def _on_seen(self) -> None:
        def see() -> None:
            self._seen = True

        self._tell(see)


def _part(passes: Passes[object]) -> object:
    """One part of `passes`: what they return at their end, _MORE before it."""
    try:
        next(passes)
    except StopIteration as end:
        ended: object = end.value
        return ended
    return _MORE


def _outcome(job: Callable[[], object]) -> object:
    """What `job` returns, or the HocketError or Preempted that it ends with."""
    try:
        return job()
    except (HocketError, Preempted) as ended:
        return ended
    except Exception as error:
        log.exception("error on the compute thread")
        return HocketError(f"the model failed: {error}", "look into the daemon's log")
