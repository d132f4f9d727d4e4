"""The blocking client: `for token in client.ask("…"): print(token.text, end="")`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import TIMEOUT_MAX
from typing import Any, Unpack

from hocket_bus.messages import (
    SUGGESTED,
    Account,
    Done,
    Explain,
    Explained,
    LinkSwitched,
    Message,
    Notice,
    ShowAccount,
    Status,
    StatusRequest,
    SwitchLink,
    Thought,
    Token,
    Turn,
    Waiting,
)
from hocket_bus.paths import default_endpoint

from .composer import Composer, EditedText
from .connection import Connection, Reader, Request, T, record_in, reply_of
from .conversation import Chat
from .question import Options, checked


class Client:
    """A connection to a daemon; close it, or use it as a context manager. One per process is enough."""

    @checked
    def __init__(self, endpoint: str | None = None, *, connect_s: float = 5.0, keys: Path | None = None) -> None:
        """Connect to `endpoint` (default: this machine's device daemon) within `connect_s`.

        `keys` is the folder of this machine's keys (default: where `hocket keys` stores them), used for tcp alone.
        Raises BadRequest, Unavailable, Untrusted, BadConfiguration.
        """
        self._connection = Connection(endpoint or default_endpoint(), keys)
        try:
            self._connection.wait_up(connect_s)
        except BaseException:
            self._connection.close()
            raise

    @checked
    def ask(self, question: str | None = None, **options: Unpack[Options]) -> Stream:
        """Ask a question; iterate over the returned stream for tokens. Other arguments: see `Options`.

        Raises BadRequest for invalid arguments, Cancelled after `close`, Unavailable in a process that was forked.
        """
        return Stream(self._connection, question, options)

    @checked
    def chat(self, **options: Unpack[Options]) -> Chat[Stream]:
        """Begin a conversation, continuing from the `turns` among the options; all options go with each question."""

        def ask(question: str, turns: Sequence[Turn]) -> Stream:
            said = options.copy()
            said["turns"] = list(turns)
            return self.ask(question, **said)

        return Chat(ask, options.get("turns", []))

    @checked
    def compose(
        self, text: str = "", cursor: int | None = None, *, tokens: int = SUGGESTED, memory: bool = True
    ) -> Composer:
        """Compose a text: suggestions of at most `tokens` tokens (1 to 44) for what may follow the cursor.

        Without `memory` nothing leaves the device for it. Raises BadRequest, Cancelled after `close`.
        """
        return Composer(
            self._connection, EditedText(self._connection.topic, text, cursor, tokens=tokens, memory=memory)
        )

    @checked
    def status(self, wait_s: float = 5.0) -> Status:
        """Return the daemon's status. Raises BadRequest, DeadlineExceeded, Cancelled after `close`, or its error."""
        return self._asked(StatusRequest(request=os.urandom(16)), Status, wait_s)

    @checked
    def switch_link(self, *, cut: bool, wait_s: float = 5.0) -> None:
        """Cut the device off from the cloud, or let it connect again. Raises as `status` does."""
        self._asked(SwitchLink(request=os.urandom(16), cut=cut), LinkSwitched, wait_s)

    @checked
    def explain(self, number: bytes, wait_s: float = 5.0) -> dict[str, Any]:
        """Return the record of the request with this number, as in `hocket explain --json`. Raises as `status` does."""
        return record_in(self._asked(Explain(request=os.urandom(16), number=number), Explained, wait_s))

    @checked
    def account(self, wait_s: float = 5.0) -> Account:
        """Return the bits that this device's documents have disclosed. Raises as `status` does."""
        return self._asked(ShowAccount(request=os.urandom(16)), Account, wait_s)

    def _asked(self, message: Request, kind: type[T], wait_s: float) -> T:
        inbox: SimpleQueue[Message] = SimpleQueue()
        self._connection.expect(message.request, inbox.put)
        try:
            self._connection.send(message)
            return reply_of(inbox.get(timeout=min(wait_s, TIMEOUT_MAX)), kind, wait_s)
        except Empty:
            return reply_of(None, kind, wait_s)
        finally:
            self._connection.forget(message.request)

    def close(self) -> None:
        """Close the connection, from any thread; streams in work are cancelled and end in Cancelled at once."""
        self._connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Stream(Reader):
    """The answer as it comes. Iterate for Token messages; `events` adds thoughts, waits, notices and the Done."""

    def __init__(self, connection: Connection, question: str | None, options: Options) -> None:
        self._inbox: SimpleQueue[Message] = SimpleQueue()
        super().__init__(connection, question, options, self._inbox.put)

    def __iter__(self) -> Iterator[Token]:
        return (event for event in self.events() if isinstance(event, Token))

    def events(self) -> Iterator[Token | Thought | Waiting | Notice | Done]:
        """Yield every unread event in order, Done last. Raises the error that ended the request, if one did."""
        while not self._over:
            event = self._next()
            if event is None:
                self._take(self._wait())
            else:
                time.sleep(self._pause_s(event))
                yield event

    def result(self) -> Done:
        """Wait for the end, skipping unread tokens, and return it. Raises as `events` does."""
        for _ in self.events():
            pass
        return self._done()

    def _wait(self) -> Message | None:
        try:
            return self._inbox.get(timeout=self._wait_s)
        except Empty:
            return None
