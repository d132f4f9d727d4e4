"""Laws of the questions that wait: each is answered or refused once, and whoever asks has a turn."""

from __future__ import annotations

import threading
from collections import Counter
from functools import partial
from queue import SimpleQueue

from hocket_bus.errors import Busy, Cancelled, HocketError
from hocket_retrieval.service.answering import MAX_TOTAL, MAX_WAITING, THREADS, THREADS_OF_ONE, Answering, Waiting
from waiting import WAIT_S


class Asked:
    """Questions whose answers wait at a gate; what became of each."""

    def __init__(self) -> None:
        self.answering, self.gate = Answering(), threading.Semaphore(0)
        self.answered: SimpleQueue[tuple[str, bytes]] = SimpleQueue()
        self.refused: list[tuple[str, bytes, type[HocketError]]] = []
        self.begun: SimpleQueue[str] = SimpleQueue()

    def ask(self, asker: str, id: bytes = b"") -> None:
        def answer() -> None:
            self.begun.put(asker)
            assert self.gate.acquire(timeout=WAIT_S)
            self.answered.put((asker, id))

        def refuse(error: HocketError) -> None:
            self.refused.append((asker, id, type(error)))

        self.answering.ask(Waiting(asker, id, answer, refuse))

    def hold(self) -> None:
        """Every thread stands at the gate."""
        for number in range(THREADS):
            self.ask(f"held {number}")
        for _ in range(THREADS):
            self.begun.get(timeout=WAIT_S)

    def go(self, number: int) -> list[str]:
        """Let so many be answered; by whom they were asked."""
        for _ in range(number):
            self.gate.release()
        return [self.answered.get(timeout=WAIT_S)[0] for _ in range(number)]


def test_one_who_asks_much_keeps_nobody_waiting() -> None:
    """Behind sixty questions of one, another's is answered among the next ones; beyond its bound one is refused."""
    asked = Asked()
    asked.hold()
    for _ in range(MAX_WAITING + 3):
        asked.ask("flood")
    assert asked.refused == [("flood", b"", Busy)] * 3
    asked.ask("other")
    assert "other" in asked.go(2 * THREADS + 2)
    asked.go(MAX_WAITING - THREADS - 1)
    asked.answering.close()
    assert asked.answering.load == 0


def test_one_asker_never_has_all_threads() -> None:
    """However many questions one asks, another's first one begins before any of them is answered."""
    asked = Asked()
    for _ in range(MAX_WAITING):
        asked.ask("flood")
    asked.go(MAX_WAITING // 2)
    for _ in range(THREADS_OF_ONE + MAX_WAITING // 2):
        assert asked.begun.get(timeout=WAIT_S) == "flood"
    asked.ask("other")
    assert asked.begun.get(timeout=WAIT_S) == "other"
    asked.go(1 + MAX_WAITING // 2)
    asked.answering.close()


def test_one_who_has_nothing_waiting_is_always_taken() -> None:
    """When all lines together are full the longest loses its newest, whoever else comes."""
    asked = Asked()
    asked.hold()
    crowd = [f"end {n}" for n in range(MAX_TOTAL // MAX_WAITING)]
    for asker in crowd:
        for _ in range(MAX_WAITING):
            asked.ask(asker)
    assert asked.refused == []
    asked.ask("late")
    ((loser, _, error),) = asked.refused
    assert loser in crowd
    assert error is Busy
    served = Counter(asked.go(THREADS + MAX_TOTAL))
    held = [f"held {number}" for number in range(THREADS)]
    assert served == Counter(crowd * MAX_WAITING) - Counter([loser]) + Counter([*held, "late"])
    asked.answering.close()


def test_a_dropped_question_is_refused_unless_it_has_begun() -> None:
    """Of the one who asked it alone; and what waits when it closes is answered."""
    asked = Asked()
    asked.hold()
    for asker in ("a", "b"):
        asked.ask(asker, b"1")
    asked.ask("a", b"2")
    asked.answering.drop("c", b"1")
    asked.answering.drop("held 0", b"")
    assert asked.refused == []
    asked.answering.drop("a", b"1")
    assert asked.refused == [("a", b"1", Cancelled)]
    closing = threading.Thread(target=partial(asked.answering.close))
    closing.start()
    assert sorted(asked.go(THREADS + 2)) == ["a", "b", "held 0", "held 1", "held 2"]
    closing.join(WAIT_S)
    asked.ask("late")
    assert asked.refused[1:] == [("late", b"", Busy)]


def test_closing_ends_every_thread_behind_the_questions_of_one() -> None:
    """The thread that may not serve it waits, and ends with the others."""
    asked = Asked()
    for _ in range(MAX_WAITING):
        asked.ask("flood")
    closing = threading.Thread(target=asked.answering.close, daemon=True)
    closing.start()
    asked.go(MAX_WAITING)
    closing.join(WAIT_S)
    assert not closing.is_alive()
