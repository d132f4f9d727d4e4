"""A session that turns into another one as soon as it is known which."""

from __future__ import annotations

import os
from collections.abc import Callable
from math import inf

from hocket_bus.errors import HocketError
from hocket_bus.messages import Ask, Message

from ..mode import Facts, Session, question_of
from ..stream.reply import Reply, late


class DeferredSession:
    """The base of such a Session; a subclass calls `_become` once, and ends in `_stop` what that waits for."""

    def __init__(self, ask: Ask, reply: Reply) -> None:
        self._ask, self._reply = ask, reply
        self._number = os.urandom(16)
        self._closed = False
        self._inner: Session | None = None

    @property
    def id(self) -> bytes:
        """The number of the session that it became; before that, one of its own."""
        return self._inner.id if self._inner is not None else self._number

    @property
    def closed(self) -> bool:
        """Tell whether the session that it became is over, or this one if it ended before."""
        return self._inner.closed if self._inner is not None else self._closed

    def receive(self, message: Message) -> None:
        """Pass a message on to the session that it became."""
        if self._inner is not None:
            self._inner.receive(message)

    def on_peer(self, up: bool, reason: HocketError | None) -> None:
        """Report the other side's state to the session that it became, which looks by itself when it begins."""
        if self._inner is not None:
            self._inner.on_peer(up, reason)

    def due_s(self) -> float:
        """Return the time that the session it became needs; before that, the reader's deadline."""
        return self._inner.due_s() if self._inner is not None else inf if self._closed else self._reply.deadline_s

    def tick(self, now: float) -> None:
        """Act on what has not come in time."""
        if self._inner is not None:
            self._inner.tick(now)
        elif now >= self._reply.deadline_s:
            self.fail(late(self._ask))

    def cancel(self) -> None:
        """Stop: nobody waits any more."""
        if self._inner is not None:
            self._inner.cancel()
        elif not self._closed:
            self._reply.finish("cancelled", None)
            self._close()

    def fail(self, error: HocketError) -> None:
        """End with an error."""
        if self._inner is not None:
            self._inner.fail(error)
        elif not self._closed:
            self._reply.fail(error)
            self._close()

    def record(self) -> Facts:
        """Return the record of the session that it became; before that, the question."""
        return self._inner.record() if self._inner is not None else question_of(self._ask)

    def _become(self, begun: Callable[[], Session]) -> None:
        if self._closed:
            return
        try:
            self._inner = begun()
        except HocketError as error:
            self.fail(error)

    def _stop(self) -> None:
        """End what the session waits for."""

    def _close(self) -> None:
        self._closed = True
        self._stop()
