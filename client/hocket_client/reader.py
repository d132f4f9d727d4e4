"""What both clients' streams are: what came, what is still to be read, and how it ended. Only the waits differ."""

from __future__ import annotations

import time
import weakref
from collections import deque

from hocket_bus.deadline import Deadline
from hocket_bus.messages import Done, Message, Notice, Token

from .assembly import SILENCE_S, Assembly, Event
from .connection import Connection, Receiver
from .pace import Pace
from .question import Options, ask_message

GRACE_S = 5.0  # what a daemon gets beyond the request's own deadline to say that it has passed


class Reader:
    """A question that was asked. A subclass takes what its receiver got, or the silence, and hands out the events.

    Once nobody holds it, it is cancelled and forgotten; so nothing that lives longer, like the receiver, may hold it.
    """

    def __init__(self, connection: Connection, question: str, options: Options, receiver: Receiver) -> None:
        self.notices: list[str] = []
        self._connection = connection
        self._assembly = Assembly(ask_message(question, topic=connection.topic, **options))
        self._deadline = Deadline.after(self._assembly.ask.deadline_s + GRACE_S)
        self._ready: deque[Event] = deque()
        self._pace = Pace(options.get("pace", 0.0))
        self._error: Exception | None = None
        request = self._assembly.ask.request
        connection.expect(request, receiver, self._assembly.nudge)
        self._leave = weakref.finalize(self, connection.leave, request)
        self._leave.atexit = False  # a process that ends leaves by its silence
        connection.send(self._assembly.ask)

    def cancel(self) -> None:
        """Ask the daemon to stop, again after a break. The stream then ends with finish 'cancelled'."""
        self._connection.send(self._assembly.cancel())

    @property
    def _over(self) -> bool:
        """Whether the Done has been read."""
        return self._assembly.done is not None and not self._ready

    @property
    def _wait_s(self) -> float:
        """How long to wait for the next message; if none has come by then, that is a silence."""
        return min(SILENCE_S, self._deadline.left_s)

    def _done(self) -> Done:
        assert self._assembly.done is not None
        return self._assembly.done

    def _next(self) -> Event | None:
        """The next event, None while there is none. Raises what ended the request, if an error did, however often."""
        if self._ready:
            event = self._ready.popleft()
            if isinstance(event, Notice):
                self.notices.append(event.text)
            return event
        if self._error is not None:
            raise self._error
        self._connection.check()
        return None

    def _pause_s(self, event: Event) -> float:
        """How long the reader lets an event wait for the pace that it asked for."""
        return self._pace.wait_s(time.monotonic()) if isinstance(event, Token) else 0.0

    def _take(self, message: Message | None) -> None:
        """Act on what came; None is a silence."""
        try:
            self._ready += self._hear(message)
        except Exception as error:  # noqa: BLE001 - raised by `_next`
            self._error = error
            self._leave()
        if self._assembly.done is not None:
            self._leave.detach()
            self._connection.forget(self._assembly.ask.request)

    def _hear(self, message: Message | None) -> list[Event]:
        if message is not None:
            ready = self._assembly.feed(message)
            self._connection.send(*self._assembly.reply())
            return ready
        if self._deadline.passed:
            raise self._assembly.overdue()
        self._connection.send(*self._assembly.nudge())
        return []
