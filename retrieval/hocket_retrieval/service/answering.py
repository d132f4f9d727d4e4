"""The queues of questions that wait for an answer: a few threads serve them, and clients take turns.

No client has all the threads, so that a client without a question under way is answered at once. The queue of a
client has MAX_WAITING questions at most. When all queues together have more than MAX_TOTAL, the longest loses its
newest question, so that a client with nothing waiting is always accepted.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from hocket_bus.errors import Busy, Cancelled, HocketError
from hocket_bus.limits.turns import Turns

THREADS = 3
THREADS_OF_ONE = 2
MAX_WAITING = 64
MAX_TOTAL = 512
END_S = 1.0  # for what is being answered at the end


@dataclass(frozen=True, slots=True)
class Waiting:
    """A waiting question: `answer` is called on one of the threads, or `refuse` instead of it, on any."""

    asker: str | bytes
    id: bytes
    answer: Callable[[], None]
    refuse: Callable[[HocketError], None]


class Answering:
    """Threads that answer or refuse each question once. All but the answering is done at once, on any thread."""

    def __init__(self) -> None:
        self._turns: Turns[str | bytes, Waiting] = Turns()
        self._running: Counter[str | bytes] = Counter()  # questions of each asker
        self._open = True
        self._news = threading.Condition()
        self._threads = [threading.Thread(target=self._run, name=f"answer-{n}", daemon=True) for n in range(THREADS)]
        for thread in self._threads:
            thread.start()

    @property
    def load(self) -> int:
        """Return the number of questions that wait or are being answered."""
        with self._news:
            return len(self._turns) + self._running.total()

    def ask(self, question: Waiting) -> None:
        """Queue a question; without room refuse it, or another one in its place."""
        with self._news:
            surplus = self._put(question)
            self._news.notify()
        if surplus is not None:
            surplus.refuse(Busy("too many requests are waiting already"))

    def drop(self, asker: str | bytes, id: bytes) -> None:
        """Withdraw a question of `asker`; one that has not begun is refused."""
        with self._news:
            dropped = self._turns.drop(asker, lambda question: question.id == id)
        for question in dropped:
            question.refuse(Cancelled("nobody waits for this any more"))

    def close(self) -> None:
        """Answer what waits, and end the threads; a thread that does not end in time is left running."""
        with self._news:
            self._open = False
            self._news.notify_all()
        until_s = time.monotonic() + END_S
        for thread in self._threads:
            thread.join(max(0.0, until_s - time.monotonic()))

    def _put(self, question: Waiting) -> Waiting | None:
        if self._turns.length(question.asker) >= MAX_WAITING or not self._open:
            return question
        self._turns.put(question.asker, question)
        return self._turns.cut_longest() if len(self._turns) > MAX_TOTAL else None

    def _run(self) -> None:
        while (question := self._next()) is not None:
            try:
                question.answer()
            finally:
                with self._news:
                    self._running[question.asker] -= 1
                    self._running += Counter()  # without those who have none
                    self._news.notify_all()  # another thread may take the asker's next, and all end behind the last

    def _next(self) -> Waiting | None:
        """Wait for the question whose turn it is; None after `close`, once none is left."""
        with self._news:
            while (question := self._turns.take(self._busy())) is None:
                if not self._open and not len(self._turns):
                    return None
                self._news.wait()
            self._running[question.asker] += 1
            return question

    def _busy(self) -> set[str | bytes]:
        return {asker for asker, threads in self._running.items() if threads >= THREADS_OF_ONE}
