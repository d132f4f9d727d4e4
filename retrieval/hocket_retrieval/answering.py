"""The questions that wait for an answer: a few threads serve them, and whoever asks has a turn.

A line has MAX_WAITING questions at most. When all lines together have MAX_TOTAL, the longest loses its newest, so that
one who has nothing waiting is always taken.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from hocket_bus.errors import Busy, Cancelled, HocketError
from hocket_bus.turns import Turns

THREADS = 2
MAX_WAITING = 64
MAX_TOTAL = 512


@dataclass(frozen=True, slots=True)
class Waiting:
    """`answer` is called on one of the threads, or `refuse` instead of it, on any."""

    id: bytes
    answer: Callable[[], None]
    refuse: Callable[[HocketError], None]


class Answering:
    """Every question is answered or refused, once. Everything but the answering is done at once, on any thread."""

    def __init__(self) -> None:
        self._turns: Turns[str | bytes, Waiting] = Turns()
        self._running = 0
        self._open = True
        self._news = threading.Condition()
        self._threads = [threading.Thread(target=self._run, name=f"answer-{n}", daemon=True) for n in range(THREADS)]
        for thread in self._threads:
            thread.start()

    @property
    def load(self) -> int:
        """Questions that wait or are being answered."""
        with self._news:
            return len(self._turns) + self._running

    def ask(self, asker: str | bytes, question: Waiting) -> None:
        """Take a question of `asker`'s, or refuse it, or another one for it."""
        with self._news:
            surplus = self._put(asker, question)
            self._news.notify()
        if surplus is not None:
            surplus.refuse(Busy("too many requests are waiting already"))

    def drop(self, asker: str | bytes, id: bytes) -> None:
        """Nobody waits for this question of `asker`'s any more; one that has not begun is refused."""
        with self._news:
            dropped = self._turns.drop(asker, lambda question: question.id == id)
        for question in dropped:
            question.refuse(Cancelled("nobody waits for this any more"))

    def close(self) -> None:
        """Answer what waits, and end the threads."""
        with self._news:
            self._open = False
            self._news.notify_all()
        for thread in self._threads:
            thread.join()

    def _put(self, asker: str | bytes, question: Waiting) -> Waiting | None:
        if self._turns.length(asker) >= MAX_WAITING or not self._open:
            return question
        self._turns.put(asker, question)
        return self._turns.cut_longest() if len(self._turns) > MAX_TOTAL else None

    def _run(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: len(self._turns) or not self._open)
                question = self._turns.take()
                if question is None:
                    return
                self._running += 1
            try:
                question.answer()
            finally:
                with self._news:
                    self._running -= 1
