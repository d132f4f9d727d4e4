"""The compute thread: jobs go in from the main thread, their outcomes come back on it (docs/batching.md).

In turn: all short jobs, then one forward pass for one decode step of every session that waits and a part of the oldest
prompt.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar

import structlog

from hocket_bus.errors import HocketError

from .batch import NOTHING, Decoded, DecodeRequest, Read, Rows, decode
from .preemption import Interrupt, Preempted, Together
from .sequences import Prefill
from .slots import Segment

MANY = 4  # steps in one pass, from which on the main thread lets it finish
YIELD_S = 0.02  # after its beginning at most
T = TypeVar("T")
News: TypeAlias = Callable[[], None]
log = structlog.get_logger(__name__)


class Post(Protocol):
    """Runs callables on the main thread, in this order."""

    def __call__(self, *commands: News) -> None:
        """Hand them over and return at once."""


@dataclass(slots=True, eq=False)
class _Prompt:
    """A prompt on its way; `feed` is what the next pass appends of it, NOTHING before it has begun."""

    passes: Prefill[Any]
    interrupt: Interrupt
    done: Callable[[Any], None]
    feed: Segment = NOTHING


@dataclass(frozen=True, slots=True)
class _Ended:
    """What a prompt's passes return."""

    value: object


class Compute:
    """One thread; whatever its jobs lead to runs on the main thread, through `post`."""

    def __init__(self, post: Post, read: Read, hold_decode_s: float) -> None:
        """`read` is the model's; `hold_decode_s` lengthens decode steps, for benchmarks."""
        self.steps = 0  # of sessions, decoded so far
        self.batches = 0  # forward passes that decoded them
        self.rows = 0  # their rows
        self._post = post
        self._read = read
        self._hold_s = hold_decode_s
        self._jobs: deque[tuple[Callable[[], Any], Callable[[Any], None]]] = deque()
        self._steps: list[tuple[DecodeRequest[Any], Callable[[Any], None]]] = []
        self._prompts: deque[_Prompt] = deque()
        self._seen = True  # the main thread has seen what the last pass gave, and may have asked for the next steps
        self._open = True
        self._yield_until_s = 0.0
        self._finished = threading.Event()
        self._finished.set()
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

    def prefill(
        self, passes: Prefill[T], interrupt: Interrupt, done: Callable[[T | HocketError | Preempted], None]
    ) -> None:
        """Make the forward passes that `passes` asks for, together with the steps of others.

        `done` gets what it returns, or a Preempted when the interrupt was set before the end.
        """
        self._tell(lambda: self._prompts.append(_Prompt(passes, interrupt, done)))

    def decode(self, step: DecodeRequest[T], done: Callable[[Decoded[T] | HocketError | Preempted], None]) -> None:
        """Decode `step` together with whatever else waits by then.

        `done` gets a Preempted when the interrupts of all of them were set before the end.
        """
        self._tell(lambda: self._steps.append((step, done)))

    def let_finish(self) -> None:
        """Called by the main thread before each turn: leaves the interpreter to a pass for many sessions, for a while.

        Two threads that want one interpreter take longer side by side than one behind the other, and what comes
        meanwhile is for the next pass anyway. A pass for a few is short, and may be one to be interrupted.
        """
        self._finished.wait(max(0.0, self._yield_until_s - time.monotonic()))

    def close(self) -> None:
        """Drop what has not begun and wait for the rest."""

        def end() -> None:
            self._open = False

        self._tell(end)
        self._thread.join()

    def _tell(self, change: Callable[[], None]) -> None:
        with self._news:
            change()
            if self._has_work():  # a thread woken for nothing takes the interpreter from whoever told
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
                self._post(partial(done, _outcome(job)))
            if self._seen and (self._steps or self._prompts):
                self._pass()

    def _has_work(self) -> bool:
        return bool(self._jobs or (self._seen and (self._steps or self._prompts)) or not self._open)

    def _pass(self) -> None:
        with self._news:
            waiting, self._steps = self._steps, []
        wanted = [(step, done) for step, done in waiting if not step.interrupt.is_set]
        self._post(*(partial(done, Preempted()) for step, done in waiting if (step, done) not in wanted))
        prompt = self._begun()
        if wanted or prompt is not None:
            outcome = _outcome(partial(self._decode, [step for step, _ in wanted], prompt))
            decoded, behind = outcome if isinstance(outcome, tuple) else (outcome, outcome)
            values = [_own(each) for each in decoded] if isinstance(decoded, list) else [decoded] * len(wanted)
            news: list[News] = [partial(done, value) for (_, done), value in zip(wanted, values, strict=True)]
            if prompt is not None:
                news += self._go_on(prompt, behind)
            self._hand_over(news, preempted=isinstance(decoded, Preempted))

    def _decode(
        self, steps: list[DecodeRequest[Any]], prompt: _Prompt | None
    ) -> tuple[list[Decoded[Any]] | Preempted, Rows]:
        interrupts, started_s = [step.interrupt for step in steps], time.monotonic()
        together = Together([*interrupts, *([prompt.interrupt] if prompt is not None else [])])
        if len(steps) >= MANY:
            self._yield_until_s = started_s + YIELD_S
            self._finished.clear()
        try:
            alone = [replace(step, then=_guarded(step.then)) for step in steps]
            decoded, behind = decode(self._read, alone, together, prompt.feed if prompt is not None else NOTHING)
        finally:
            self._finished.set()
        if not steps:
            return decoded, behind
        if self._hold_s and Together(interrupts).wait(started_s + self._hold_s - time.monotonic()):
            return Preempted(), behind
        self.batches, self.steps, self.rows = self.batches + 1, self.steps + len(steps), self.rows + decoded[0].rows
        return decoded, behind

    def _begun(self) -> _Prompt | None:
        """The oldest prompt that somebody wants, with a part of it to be read."""
        while self._prompts:
            prompt = self._prompts[0]
            if prompt.feed is not NOTHING and not prompt.interrupt.is_set:
                return prompt
            self._post(*self._go_on(prompt, Preempted() if prompt.interrupt.is_set else None))
        return None

    def _go_on(self, prompt: _Prompt, read: object) -> list[News]:
        """Tell the oldest prompt what its pass gave, None before the first one; what there is to hand over then."""
        outcome = _outcome(partial(_part, prompt.passes, read))
        if isinstance(outcome, Segment):
            prompt.feed = outcome
            return []
        self._prompts.popleft()
        return [partial(prompt.done, outcome.value if isinstance(outcome, _Ended) else outcome)]

    def _hand_over(self, news: list[News], *, preempted: bool) -> None:
        """The next pass waits until the main thread has seen this one, unless there is nobody to wait for."""
        alone = len(news) == 1 and not self._steps and not self._prompts
        if not news or alone or preempted:  # whoever interrupts has asked for the next step by then
            self._post(*news)
        else:
            self._seen = False
            self._post(*news, self._on_seen)

    def _on_seen(self) -> None:
        def see() -> None:
            self._seen = True

        self._tell(see)


def _part(passes: Prefill[object], read: object) -> Segment | _Ended:
    """What `passes` asks for next, or returns, when it is sent what it asked for last or thrown why there is none."""
    try:
        return passes.throw(read) if isinstance(read, Exception) else passes.send(read)  # type: ignore[arg-type]
    except StopIteration as end:
        return _Ended(end.value)


def _guarded(then: Callable[[Rows], object]) -> Callable[[Rows], object]:
    return lambda rows: _outcome(partial(then, rows))


def _own(decoded: Decoded[Any]) -> Decoded[Any] | HocketError:
    """A step that failed behind the pass failed by itself."""
    return decoded.value if isinstance(decoded.value, HocketError) else decoded


def _outcome(job: Callable[[], object]) -> object:
    """What `job` returns, or the HocketError or Preempted that it ends with."""
    try:
        return job()
    except (HocketError, Preempted) as ended:
        return ended
    except Exception as error:
        log.exception("error on the compute thread")
        return HocketError(f"the model failed: {error}", "look into the daemon's log")
