"""A question on the side that was asked: its deadline and its single end, whichever way it is answered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import inf

from hocket_bus.errors import HocketError
from hocket_bus.messages import Finish, Outcome

from ..search.evidence import GUESS, INVENTED, unknown_answer, withheld_answer
from ..services import Services
from ..stream.reply import Reply, Sourced, late


class Leading(ABC):
    """A session that publishes an answer.

    After the last token it may wait for the other side's report on its sources, and for nothing else. Whatever comes
    then, silence, an error or a reader who has left, the answer ends as it was written.
    """

    def __init__(self, services: Services, reply: Reply) -> None:
        self.closed = False
        self.user = reply.user  # the key of whoever asked
        self.within: Sequence[str] = reply.ask.within  # the folders from which alone this side's passages are
        self._services = services
        self._reply = reply
        self._written: Finish | None = None  # the answer lacks nothing but the other side's sources
        self._sources_by_s = inf

    def on_peer(self, up: bool, reason: HocketError | None) -> None:
        """Note that the other side can be reached, or cannot."""
        if not self._written:
            self._on_peer(up, reason)
        elif not up:
            self._conclude(self._written)

    def due_s(self) -> float:
        """Return the time at which `tick` is next needed."""
        return min(self._reply.deadline_s, self._sources_by_s if self._written else self._due_s())

    def tick(self, now: float) -> None:
        """Act on what has not come in time."""
        if self._written:
            self._conclude(self._written)
        elif now >= self._reply.deadline_s:
            self.fail(late(self._reply.ask))
        else:
            self._on_time(now)

    def cancel(self) -> None:
        """Stop: the reader wants no more."""
        self._conclude(self._written or "cancelled")

    def fail(self, error: HocketError) -> None:
        """End the stream with an error, unless the answer is written."""
        if self._written:
            self._conclude(self._written)
        elif not self.closed:
            self._reply.fail(error)
            self._end(error.code, whole=False)

    def _await_sources(self, finish: Finish, until_s: float) -> None:
        """Mark the answer as written; it ends when the other side has reported its sources, or at `until_s`."""
        self._written, self._sources_by_s = finish, until_s

    def _conclude(self, finish: Finish) -> None:
        if not self.closed:
            result, readers = self._result(), self._readers()
            done = self._reply.finish(finish, *result)
            if done is not None and finish != "cancelled":
                for reader in readers:
                    self._services.history.add(self._reply.ask.prompt.query, done.text, reader)
            self._end(finish, whole=finish != "cancelled")

    def _doubt(self, line: str, *, begun: bool, withheld: bool = False) -> None:
        """Act on the doubt in `line`, that nothing found is about the question; do nothing if it is empty.

        The client has chosen what follows (`unknown`); an answer that has `begun` is marked, since it cannot be taken
        back. If documents that were found are `withheld` for want of bits, nobody knows what they would have said.
        """
        unknown = self._reply.ask.unknown
        if not line:
            return
        if unknown == "say" and not begun:
            if not withheld:
                self._notify(f"{line}{GUESS}")
            answer = (withheld_answer if withheld else unknown_answer)(self._reply.ask.prompt.query)
            self._reply.withhold(self._services.model.continued(answer))
            self._conclude("unknown")
        elif unknown != "answer":
            self._notify(f"{line}{INVENTED}")

    def _notify(self, text: str) -> None:
        """Tell the reader something; the answer goes on."""
        self._reply.notice(text)

    def _end(self, reason: str, *, whole: bool) -> None:
        self._close(reason, whole=whole)
        self.closed = True

    # --- what a way of answering brings

    @abstractmethod
    def _on_peer(self, up: bool, reason: HocketError | None) -> None:
        """Note that the other side can be reached, or cannot, while the answer is being written."""

    @abstractmethod
    def _due_s(self) -> float:
        """Return the time at which `_on_time` is next needed."""

    @abstractmethod
    def _on_time(self, now: float) -> None:
        """Act on what has not come in time, but for the deadline."""

    @abstractmethod
    def _result(self) -> tuple[Outcome, Sourced, int]:
        """Return the answer's result: the mode's account, its sources, and how many tokens were read for it here."""

    @abstractmethod
    def _readers(self) -> list[str]:
        """Return who elsewhere has read the question and the whole answer."""

    @abstractmethod
    def _close(self, reason: str, *, whole: bool) -> None:
        """Tell the other side that the stream has ended, the answer `whole` or abandoned, and free what is held.

        Where the other side's sources were awaited, it was told already.
        """
