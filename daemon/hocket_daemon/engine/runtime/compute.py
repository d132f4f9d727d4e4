"""The compute thread: jobs go in from the main thread, their outcomes come back on it (docs/engine.md).

In turn: all short jobs, then one forward pass for one decode request of every session that waits and a part of the
oldest prompt; prompts of somebody who is typing come before all others. A daemon has one such thread for each model.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import structlog

from hocket_bus.errors import HocketError

from ..preemption import Interrupt, Preempted, Together
from ..sampling.heads import NO_HEADS, Heads, stacked
from ..sampling.step_rows import ALL, StepRows
from ..segments import NOTHING, Segment
from .pass_costs import PassCosts
from .sequences import Prefill, SequenceGroup

News: TypeAlias = Callable[[], None]
log = structlog.get_logger(__name__)


class Post(Protocol):
    """A function that runs callables on the main thread, in this order."""

    def __call__(self, *commands: News) -> None:
        """Hand over the `commands` and return at once."""


def outcome_of(job: Callable[[], object]) -> object:
    """Return the result of `job`, or the HocketError or Preempted that it raises; other errors become a HocketError."""
    try:
        return job()
    except (HocketError, Preempted) as ended:
        return ended
    except Exception as error:
        log.exception("error on the compute thread")
        return HocketError(f"the model failed: {error}", "see the daemon's log")


def handle(done: Callable[[Any], None], outcome: object) -> None:
    """Give an outcome to whoever waits for it on the main thread; where that fails, give the failure, once."""
    try:
        done(outcome)
    except Exception as error:  # noqa: BLE001 - it is logged, and ends one request
        done(failure(error))


def failure(error: Exception) -> HocketError:
    """Log what a handler raised, with its traceback; return the error that its user gets."""
    log.exception("a request failed by a fault of this daemon")
    if isinstance(error, HocketError):
        return error
    return HocketError(f"this daemon has a fault ({type(error).__name__})", "ask again, and report what its log says")


T = TypeVar("T")
Read: TypeAlias = Callable[[Sequence[Segment], Interrupt], list[Heads]]
Share: TypeAlias = Callable[[int], float]  # of a pass of so many tokens what its tokens take


@dataclass(frozen=True, slots=True, eq=False)
class DecodeRequest(Generic[T]):
    """A request for the distributions after `tokens`: `then` makes of the rows' heads what the session needs.

    Only `rows` of the group are decoded, those that are wanted later in a pass of their own; they come last. The other
    rows read nothing.
    """

    group: SequenceGroup
    tokens: list[int]
    then: Callable[[Heads], T]
    interrupt: Interrupt
    rows: StepRows = ALL


class Decoded(NamedTuple, Generic[T]):
    """The outcome of a decode request, and the number of rows that were decoded together with its own.

    `repeated` counts the tokens, over all its rows, that were read besides the newest of each: tokens read again after
    a rollback, tokens that a row had missed, and proposed ones. It is negative where nothing had to be read, since all
    of it had been proposed before.
    """

    value: T
    rows: int
    repeated: int = 0


def decode(
    read: Read,
    requests: Sequence[DecodeRequest[T]],
    interrupt: Interrupt,
    prompt: Segment = NOTHING,
    share: Share = lambda _: 1.0,
) -> tuple[list[Decoded[T]], Heads]:
    """Decode all requests, at most one of each session, and append `prompt` in one pass of the model's `read`.

    The smaller the tokens' `share` of the cost of a pass, the more tokens are read ahead (copying.py). Rows that are
    wanted later take a second pass. Returns the outcomes of the requests, and the distributions after the prompt's
    rows. Raises Preempted when nobody wants the pass any more.
    """
    tokens = sum(map(_width, requests)) + sum(map(len, prompt.tokens))
    segments = [request.group.segment(request.tokens, share(tokens), request.rows.places) for request in requests]
    appended = [segment for segment in (*segments, prompt) if segment.rows]
    found = iter(read(appended, interrupt) if appended else [])
    taken = [
        request.group.take(request.tokens, next(found) if segment.rows else None)
        for request, segment in zip(requests, segments, strict=True)
    ]
    repeated = [request.group.repeated for request in requests]
    behind = next(found, NO_HEADS)
    taken, missed = _with_more(read, requests, taken, interrupt)
    repeated = [sum(each) for each in zip(repeated, missed, strict=True)]
    rows = sum(len(each) for each, more in zip(taken, repeated, strict=True) if more >= 0)
    return [
        Decoded(request.then(each), rows, more) for request, each, more in zip(requests, taken, repeated, strict=True)
    ], behind


def _with_more(
    read: Read, requests: Sequence[DecodeRequest[T]], taken: Sequence[Heads], interrupt: Interrupt
) -> tuple[list[Heads], list[int]]:
    """Read the rows that are wanted later; return all wanted heads, and the tokens read besides each row's newest."""
    found, missed = list(taken), [0] * len(requests)
    asking = [at for at, request in enumerate(requests) if request.rows.asks(taken[at])]
    segments = [requests[at].group.roll_back(requests[at].tokens, requests[at].rows.later) for at in asking]
    for at, heads in zip(asking, read(segments, interrupt) if segments else (), strict=True):
        group = requests[at].group
        found[at], missed[at] = stacked([found[at], group.take(requests[at].tokens, heads)]), group.repeated
    return found, missed


@dataclass(slots=True, eq=False)
class Prompt:
    """A prompt being read: `segment` is its part in the next pass, NOTHING before the first; `done` gets its end."""

    passes: Prefill[Any]
    interrupt: Interrupt
    done: Callable[[Any], None]
    urgent: bool = False
    segment: Segment = NOTHING


@dataclass(frozen=True, slots=True)
class _Ended:
    """The value that a prompt's passes return."""

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
        """Queue a prompt, to be read when all prompts before it, and all urgent ones, have ended."""
        self._queue(prompt).append(prompt)

    def begin(self) -> Prompt | None:
        """Begin and return the first prompt that is still wanted, ending those before it; None where there is none."""
        for first in self._first():
            if first.segment is not NOTHING and not first.interrupt.is_set:
                return first
            self._post(*self.go_on(first, Preempted() if first.interrupt.is_set else None))
        return None

    def go_on(self, prompt: Prompt, read: object) -> list[News]:
        """Send the first prompt of a queue the result of its pass, None before the first; return commands to post."""
        outcome = outcome_of(partial(_next_part, prompt.passes, read))
        if isinstance(outcome, Segment):
            prompt.segment = outcome
            return []
        self._queue(prompt).popleft()
        return [partial(handle, prompt.done, outcome.value if isinstance(outcome, _Ended) else outcome)]

    def _first(self) -> Iterator[Prompt]:
        """Yield the prompt whose turn it is, until both queues are empty."""
        while queue := self._urgent or self._waiting:
            yield queue[0]

    def _queue(self, prompt: Prompt) -> deque[Prompt]:
        return self._urgent if prompt.urgent else self._waiting


def _next_part(passes: Prefill[object], read: object) -> Segment | _Ended:
    """Resume `passes` with its last result, or raise the error in it; return its next segment, or its end."""
    try:
        return passes.throw(read) if isinstance(read, Exception) else passes.send(read)  # type: ignore[arg-type]
    except StopIteration as end:
        return _Ended(end.value)


PASS_END_S = 2.5  # at the end of a daemon, which is to be gone soon
MANY = 4  # requests in one pass, from which on the main thread lets it finish
YIELD_S = 0.02  # after its beginning at most


class _Waiting(NamedTuple):
    request: DecodeRequest[Any]
    done: Callable[[Any], None]


class Compute:
    """The compute thread of a model; the outcomes of its jobs are handled on the main thread, through `post`."""

    def __init__(self, post: Post, read: Read) -> None:
        """Start the thread; `read` is the model's."""
        self.requests = 0  # decoded so far
        self.copied = 0  # of them whose tokens had been proposed and read before
        self.batches = 0  # forward passes that decoded them
        self.rows = 0  # their rows
        self.read_tokens = 0  # in all rows, but for the last of each decoded request, which gives its token
        self._post = post
        self._read = read
        self._costs = PassCosts()
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

    @property
    def prompt_token_s(self) -> float:
        """Seconds that a token of a prompt takes, as earlier prompts took them; 0 where nothing is known."""
        return self._costs.token_s

    def fact(self) -> str:
        """A line for `hocket status`."""
        batches = max(1, self.batches)
        sessions, rows = (self.requests - self.copied) / batches, self.rows / batches
        return f"{sessions:.1f} session(s), {rows:.1f} row(s) a step; {self.waiting} waiting"

    def metrics(self) -> dict[str, float]:
        """Return the same figures for programs, as counts since the start."""
        counted = {"batches": self.batches, "batch_steps": self.requests, "batch_rows": self.rows}
        counted |= {"copied": self.copied, "read_tokens": self.read_tokens, "waiting": self.waiting}
        return {name: float(count) for name, count in counted.items()}

    def run(self, job: Callable[[], T], done: Callable[[T | HocketError], None]) -> None:
        """Run a short `job` on the compute thread and `done` on the main thread."""
        self._enqueue(lambda: self._jobs.append((job, done)))

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
        self._enqueue(lambda: self._prompts.append(Prompt(passes, interrupt, done, urgent)))

    def decode(self, request: DecodeRequest[T], done: Callable[[Decoded[T] | HocketError | Preempted], None]) -> None:
        """Decode `request` together with whatever else waits by then.

        `done` gets a Preempted when the interrupts of all of them were set before the end.
        """
        self._enqueue(lambda: self._waiting.append(_Waiting(request, done)))

    def let_finish(self) -> None:
        """Leave the interpreter to a pass for many sessions for a while; the main thread calls this before each turn.

        Two threads that want one interpreter take longer side by side than one after the other, and what arrives
        meanwhile is for the next pass anyway. A pass for a few sessions is short, and may be one to be interrupted.
        """
        self._finished.wait(max(0.0, self._yield_until_s - time.monotonic()))

    def close(self) -> None:
        """Drop what has not begun and wait for the rest; a pass that does not return is left to itself."""

        def end() -> None:
            self._open = False

        self._enqueue(end)
        self._thread.join(PASS_END_S)
        if self._thread.is_alive():
            log.warning("a pass of the model does not end", waited_s=PASS_END_S)

    def _enqueue(self, change: Callable[[], None]) -> None:
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
                self._post(partial(handle, done, outcome_of(job)))
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
        news: list[News] = [partial(handle, each.done, value) for each, value in zip(wanted, values, strict=True)]
        if prompt is not None:
            news += self._prompts.go_on(prompt, behind)
        self._hand_over(news, preempted=any(isinstance(each, Preempted) for each in (*values, behind)))

    def _wanted(self) -> list[_Waiting]:
        """Take the waiting requests, to be decoded now; end those that nobody wants any more as Preempted."""
        with self._news:
            waiting, self._waiting = self._waiting, []
        stale = [each for each in waiting if each.request.interrupt.is_set]
        self._post(*(partial(each.done, Preempted()) for each in stale))
        return [each for each in waiting if each not in stale]

    def _outcomes(self, requests: Sequence[DecodeRequest[Any]], prompt: Prompt | None) -> tuple[list[object], object]:
        """Make one pass; return the outcomes of `requests` and of the prompt, or its error in place of each."""
        outcome = outcome_of(partial(self.together, requests, prompt))
        if not isinstance(outcome, tuple):
            return [outcome] * len(requests), outcome
        decoded, behind = outcome
        if prompt is not None:
            self.read_tokens += sum(map(len, prompt.segment.tokens))
        if requests:
            self.requests += len(requests)
            self.copied += sum(each.repeated < 0 for each in decoded)
            self.batches += any(each.repeated >= 0 for each in decoded)
            self.rows += decoded[0].rows
            self.read_tokens += sum(each.repeated for each in decoded)
        return [_own(each) for each in decoded], behind

    def together(
        self, requests: Sequence[DecodeRequest[Any]], prompt: Prompt | None
    ) -> tuple[list[Decoded[Any]], Heads]:
        """Make one forward pass on the compute thread. Raises Preempted when nobody wants it any more."""
        interrupts = [request.interrupt for request in requests]
        guarded = [replace(request, then=_guarded(request.then)) for request in requests]
        if prompt is None:
            prompt_segment = NOTHING
        else:
            prompt_segment = prompt.segment
            # Who types faster than a pass would else have nothing read: what it reads, the next key needs, too.
            interrupts.append(Interrupt() if prompt.urgent else prompt.interrupt)
        with self._undisturbed(len(requests)):
            return decode(self._timed, guarded, Together(interrupts), prompt_segment, self._costs.share)

    def _timed(self, segments: Sequence[Segment], interrupt: Interrupt) -> list[Heads]:
        began_s = time.monotonic()
        found = self._read(segments, interrupt)
        if not any(segment.every for segment in segments):  # what is read ahead is no plain step
            tokens = sum(len(ids) for segment in segments for ids in segment.tokens)
            self._costs.observe(tokens, time.monotonic() - began_s)
        return found

    @contextmanager
    def _undisturbed(self, requests: int) -> Iterator[None]:
        """Make the main thread wait for a pass of many requests to finish."""
        if requests >= MANY:
            self._yield_until_s = time.monotonic() + YIELD_S
            self._finished.clear()
        try:
            yield
        finally:
            self._finished.set()

    def _hand_over(self, news: list[News], *, preempted: bool) -> None:
        """Post the outcomes; the next pass waits until the main thread has seen them, unless there is no need."""
        alone = len(news) == 1 and not self.waiting
        if not news or alone or preempted:  # whoever interrupts has asked for what comes next by then
            self._post(*news)
        else:
            self._seen = False
            self._post(*news, self._on_seen)

    def _on_seen(self) -> None:
        def see() -> None:
            self._seen = True

        self._enqueue(see)


def _guarded(then: Callable[[Heads], object]) -> Callable[[Heads], object]:
    return lambda rows: outcome_of(partial(then, rows))


def _width(request: DecodeRequest[Any]) -> int:
    """Return the number of rows that a request decodes at once."""
    return len(request.group.rows if request.rows.places is None else request.rows.places)


def _own(decoded: Decoded[Any]) -> Decoded[Any] | HocketError:
    """Return a decoded request, or its error alone where it failed by itself, after the pass."""
    return decoded.value if isinstance(decoded.value, HocketError) else decoded
