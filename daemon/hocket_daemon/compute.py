"""The compute thread: jobs go in from the main thread, their outcomes come back on it."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import structlog

from hocket_bus.errors import HocketError

from .engine.preemption import Interrupt, Preempted

T = TypeVar("T")
Post = Callable[[Callable[[], None]], None]
log = structlog.get_logger(__name__)


class Compute:
    """One thread that runs jobs in the order they came in."""

    def __init__(self, post: Post, hold_decode_s: float) -> None:
        """`post` runs a callable on the main thread; `hold_decode_s` lengthens decode steps, for benchmarks."""
        self._post = post
        self._hold_s = hold_decode_s
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="compute")

    def run(self, job: Callable[[], T], done: Callable[[T | HocketError], None]) -> None:
        """Run `job` on the compute thread and `done` on the main thread."""
        future: Future[T] = self._thread.submit(job)
        future.add_done_callback(lambda finished: self._post(partial(_hand_over, finished, done)))

    def decode(
        self, job: Callable[[], T], done: Callable[[T | HocketError | Preempted], None], interrupt: Interrupt
    ) -> None:
        """The same; `done` gets a Preempted when `interrupt` was set before the end."""
        self.run(partial(_held, job, self._hold_s, interrupt), done)

    def close(self) -> None:
        """Drop what has not begun and wait for the rest."""
        self._thread.shutdown(cancel_futures=True)


def _held(job: Callable[[], T], hold_s: float, interrupt: Interrupt) -> T | Preempted:
    started_s = time.monotonic()
    try:
        interrupt.heed()
        result = job()
        if hold_s:
            interrupt.wait(started_s + hold_s - time.monotonic())
    except Preempted as preempted:
        return preempted
    return result


def _hand_over(future: Future[T], done: Callable[[T | HocketError], None]) -> None:
    if future.cancelled():  # only while the daemon ends, when every stream has its reason already
        return
    error = future.exception()
    if error is None:
        done(future.result())
    elif isinstance(error, HocketError):
        done(error)
    else:
        log.error("error on the compute thread", exc_info=error)
        done(HocketError(f"the model failed: {error}", "look into the daemon's log"))
