"""The compute thread: jobs go in from the main thread, their outcomes come back on it (docs/engine.md).

In turn: all short jobs, then one forward pass for one decode request of every session that waits and a part of the
oldest prompt. A daemon has one such thread for each of its voices.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

from hocket_bus.errors import HocketError

from .batch import Decoded, DecodeRequest, Read, decode
from .outcome import News, Post, outcome_of
from .preemption import Interrupt, Preempted, Together
from .prefills import Prefills, Prompt
from .segments import NOTHING
from .sequences import Prefill
from .voice import Rows

MANY = 4  # requests in one pass, from which on the main thread lets it finish
YIELD_S = 0.02  # after its beginning at most
T = TypeVar("T")


class _Waiting(NamedTuple):
    request: DecodeRequest[Any]
    done: Callable[[Any], None]


class Compute:
    """One thread; whatever its jobs lead to runs on the main thread, through `post`."""

    def __init__(self, post: Post, read: Read) -> None:
        """`read` is the voice's."""
        self.requests = 0  # decoded so far
        self.batches = 0  # forward passes that decoded them
        self.rows = 0  # their rows
        self.read_tokens = 0  # in all rows, but for the last of each decoded request, which gives its token
        self._post = post
        self._read = read
        self._jobs: deque[tuple[Callable[[], Any], Callable[[Any], None]]] = deque()
        self._waiting: list[_Waiting] = []
        self._prompts = Prefills(post)
        self._seen = True  # the main thread has seen what the last pass gave, and may have asked for what comes next
        self._open = True
        self._yield_until_s = 0.0
        self._finished = threading.Event()
        self._finished.set()
        self._news = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="compute", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Decode requests and prompts that have not begun, or not ended."""
        return len(self._waiting) + len(self._prompts)

    def fact(self) -> str:
        """A line for `hocket status`."""
        batches = max(1, self.batches)
        return (
            f"{self.requests / batches:.1f} session(s), {self.rows / batches:.1f} row(s) a step; {self.waiting} waiting"
        )

    def metrics(self) -> dict[str, float]:
        """The same for programs, as counts since the start."""
        counted = {"batches": self.batches, "batch_steps": self.requests, "batch_rows": self.rows}
        counted |= {"read_tokens": self.read_tokens, "waiting": self.waiting}
        return {name: float(count) for name, count in counted.items()}

    def run(self, job: Callable[[], T], done: Callable[[T | HocketError], None]) -> None:
        """Run a short `job` on the compute thread and `done` on the main thread."""
        self._tell(lambda: self._jobs.append((job, done)))

    def prefill(
        self,
        passes: Prefill[T],
        interrupt: Interrupt,
        done: Callable[[T | HocketError | Preempted], None],
        *,
        urgent: bool = False,
    ) -> None:
        """Make the forward passes that `passes` asks for, together with the requests of others.

        `done` gets what it returns, or a Preempted when the interrupt was set before the end. Those that are `urgent`
        come before all others, and are to be short: they are interrupted between two passes only.
        """
        self._tell(lambda: self._prompts.append(Prompt(passes, interrupt, done, urgent)))

    def decode(self, request: DecodeRequest[T], done: Callable[[Decoded[T] | HocketError | Preempted], None]) -> None:
        """Decode `request` together with whatever else waits by then.

        `done` gets a Preempted when the interrupts of all of them were set before the end.
        """
        self._tell(lambda: self._waiting.append(_Waiting(request, done)))

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
                self._post(partial(done, outcome_of(job)))
            if self._seen and self.waiting:
                self._pass()

    def _has_work(self) -> bool:
        return bool(self._jobs or (self._seen and self.waiting) or not self._open)

    def _pass(self) -> None:
        wanted = self._wanted()
        prompt = self._prompts.begin()
        if not wanted and prompt is None:
            return
        values, behind = self._outcomes([each.request for each in wanted], prompt)
        news: list[News] = [partial(each.done, value) for each, value in zip(wanted, values, strict=True)]
        if prompt is not None:
            news += self._prompts.go_on(prompt, behind)
        self._hand_over(news, preempted=any(isinstance(each, Preempted) for each in (*values, behind)))

    def _wanted(self) -> list[_Waiting]:
        """The requests that wait, to be answered now; those that nobody wants any more are handed back unread."""
        with self._news:
            waiting, self._waiting = self._waiting, []
        stale = [each for each in waiting if each.request.interrupt.is_set]
        self._post(*(partial(each.done, Preempted()) for each in stale))
        return [each for each in waiting if each not in stale]

    def _outcomes(self, requests: Sequence[DecodeRequest[Any]], prompt: Prompt | None) -> tuple[list[object], object]:
        """What one pass gives each of `requests`, and the prompt: what it ended with where it gave nothing."""
        outcome = outcome_of(partial(self.together, requests, prompt))
        if not isinstance(outcome, tuple):
            return [outcome] * len(requests), outcome
        decoded, behind = outcome
        if prompt is not None:
            self.read_tokens += sum(map(len, prompt.segment.tokens))
        if requests:
            self.batches, self.requests = self.batches + 1, self.requests + len(requests)
            self.rows += decoded[0].rows
            self.read_tokens += sum(_repeated(request) for request in requests)
        return [_own(each) for each in decoded], behind

    def together(
        self, requests: Sequence[DecodeRequest[Any]], prompt: Prompt | None
    ) -> tuple[list[Decoded[Any]], Rows]:
        """One forward pass on the compute thread. Raises Preempted when nobody wants it any more."""
        interrupts = [request.interrupt for request in requests]
        guarded = [replace(request, then=_guarded(request.then)) for request in requests]
        if prompt is None:
            prompt_segment = NOTHING
        else:
            prompt_segment = prompt.segment
            # Who types faster than a pass would else have nothing read: what it reads, the next key needs, too.
            interrupts.append(Interrupt() if prompt.urgent else prompt.interrupt)
        with self._undisturbed(len(requests)):
            return decode(self._read, guarded, Together(interrupts), prompt_segment)

    @contextmanager
    def _undisturbed(self, requests: int) -> Iterator[None]:
        """The main thread lets a pass of many requests finish."""
        if requests >= MANY:
            self._yield_until_s = time.monotonic() + YIELD_S
            self._finished.clear()
        try:
            yield
        finally:
            self._finished.set()

    def _hand_over(self, news: list[News], *, preempted: bool) -> None:
        """The next pass waits until the main thread has seen this one, unless there is nobody to wait for."""
        alone = len(news) == 1 and not self.waiting
        if not news or alone or preempted:  # whoever interrupts has asked for what comes next by then
            self._post(*news)
        else:
            self._seen = False
            self._post(*news, self._on_seen)

    def _on_seen(self) -> None:
        def see() -> None:
            self._seen = True

        self._tell(see)


def _guarded(then: Callable[[Rows], object]) -> Callable[[Rows], object]:
    return lambda rows: outcome_of(partial(then, rows))


def _repeated(request: DecodeRequest[Any]) -> int:
    """Tokens that its last distribution had to read beside the newest of each row."""
    return max(0, request.group.appended - 1) * len(request.group.rows)


def _own(decoded: Decoded[Any]) -> Decoded[Any] | HocketError:
    """A request that failed behind the pass failed by itself."""
    return decoded.value if isinstance(decoded.value, HocketError) else decoded
