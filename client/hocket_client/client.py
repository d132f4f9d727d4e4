"""The blocking client: `for token in client.ask("…"): print(token.text, end="")`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from hocket_bus.deadline import Deadline
from hocket_bus.errors import Cancelled, DeadlineExceeded, from_code
from hocket_bus.messages import Done, Error, Message, Notice, Status, StatusRequest, Token
from hocket_bus.places import default_endpoint

from .assembly import SILENCE_S, Assembly, Event
from .connection import Connection
from .question import ask_message

GRACE_S = 5.0  # what a daemon gets beyond the request's own deadline to say that it has passed


class Client:
    """A connection to a daemon; close it, or use it as a context manager. One per process is enough."""

    def __init__(self, endpoint: str | None = None, *, connect_s: float = 5.0, keys: Path | None = None) -> None:
        """Connect to `endpoint` (default: this machine's device daemon) within `connect_s`.

        `keys` is the folder of this machine's keys (default: where `hocket keys` keeps them), used for tcp alone.
        Raises Unavailable, Untrusted, BadConfiguration.
        """
        self._connection = Connection(endpoint or default_endpoint(), keys)
        try:
            self._connection.wait_up(connect_s)
        except BaseException:
            self._connection.close()
            raise

    def ask(self, question: str, **options: Any) -> Stream:  # noqa: ANN401 - the options are ask_message's
        """Ask; the stream that comes back is iterated for tokens. Options: see `ask_message`.

        Raises BadRequest for options out of range, Cancelled after `close`.
        """
        return Stream(self._connection, question, options)

    def status(self, wait_s: float = 5.0) -> Status:
        """How the daemon is. Raises DeadlineExceeded, Cancelled after `close`, or the daemon's error."""
        request = os.urandom(16)
        inbox: SimpleQueue[Message] = SimpleQueue()
        self._connection.expect(request, inbox.put)
        try:
            self._connection.send(StatusRequest(request=request))
            message = inbox.get(timeout=wait_s)
        except Empty as error:
            raise DeadlineExceeded(f"no status within {wait_s:g} s", "look at the daemon's log") from error
        finally:
            self._connection.forget(request)
        if isinstance(message, Error):
            raise from_code(message.code, message.text, message.remedy, message.retry_after_s)
        assert isinstance(message, Status)
        return message

    def close(self) -> None:
        """Close the connection, from any thread; streams in work are cancelled and end in Cancelled at once."""
        self._connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Stream:
    """The answer as it comes. Iterate for Token messages; `events` adds notices and the Done at the end."""

    def __init__(self, connection: Connection, question: str, options: dict[str, Any]) -> None:
        self.notices: list[str] = []
        self._connection = connection
        self._assembly = Assembly(ask_message(question, topic=connection.topic, **options))
        self._inbox: SimpleQueue[Message] = SimpleQueue()
        self._deadline = Deadline.after(self._assembly.ask.deadline_s + GRACE_S)
        self._ready: list[Event] = []
        self._over = False
        connection.expect(self._assembly.ask.request, self._inbox.put, self._assembly.nudge)
        connection.send(self._assembly.ask)

    def __iter__(self) -> Iterator[Token]:
        return (event for event in self.events() if isinstance(event, Token))

    def events(self) -> Iterator[Token | Notice | Done]:
        """Every event in order, Done last. Raises what ended the request, if an error did."""
        while self._ready or not self._over:
            if self._ready:
                event = self._ready.pop(0)
                if isinstance(event, Notice):
                    self.notices.append(event.text)
                yield event
            else:
                self._fill()

    def result(self) -> Done:
        """Wait for the end, skipping tokens nobody read. Raises as `events` does."""
        for _ in self.events():
            pass
        if self._assembly.done is None:
            raise Cancelled("the stream was closed before its end", "ask again")
        return self._assembly.done

    def cancel(self) -> None:
        """Ask the daemon to stop, again after a break. The stream then ends with finish 'cancelled'."""
        self._connection.send(self._assembly.cancel())

    def _fill(self) -> None:
        try:
            message = self._inbox.get(timeout=min(SILENCE_S, self._deadline.left_s))
        except Empty:
            if self._deadline.passed:
                self._close()
                raise self._assembly.overdue() from None
            self._connection.send(*self._assembly.nudge())
            return
        try:
            self._ready += self._assembly.feed(message)
        except Exception:
            self._close()
            raise
        self._connection.send(*self._assembly.reply())
        if self._assembly.done is not None:
            self._close()

    def _close(self) -> None:
        self._over = True
        if self._assembly.done is None:
            self.cancel()
        self._connection.forget(self._assembly.ask.request)
