"""The asynchronous client: `async for token in client.ask("…")`; it reads as the blocking one, but waits on a loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Unpack

from hocket_bus.deadline import Deadline
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

from .composer import AsyncComposer, EditedText
from .connection import Connection, Reader, Request, T, record_in, reply_of
from .conversation import Chat
from .inbox import Inbox
from .question import Options, checked


class AsyncClient:
    """A connection to a daemon: `async with AsyncClient() as client`."""

    @checked
    def __init__(self, endpoint: str | None = None, *, connect_s: float = 5.0, keys: Path | None = None) -> None:
        self._endpoint = endpoint or default_endpoint()
        self._connect_s = connect_s
        self._keys = keys
        self._connection: Connection | None = None

    async def __aenter__(self) -> AsyncClient:
        self._connection = Connection(self._endpoint, self._keys)
        try:
            await asyncio.to_thread(self._connection.wait_up, self._connect_s)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; streams in work are cancelled and end in Cancelled at once."""
        if self._connection is not None and self._connection.is_own:  # no thread of the parent is here
            await asyncio.to_thread(self._connection.close)

    @checked
    def ask(self, question: str | None = None, **options: Unpack[Options]) -> AsyncStream:
        """Ask a question; call it inside `async with`, on the loop that will iterate. Other arguments: see `Options`.

        Raises BadRequest for invalid arguments, Cancelled after `close`, Unavailable in a process that was forked.
        """
        if self._connection is None:
            raise RuntimeError("use AsyncClient inside 'async with'")
        return AsyncStream(self._connection, question, options)

    @checked
    def chat(self, **options: Unpack[Options]) -> Chat[AsyncStream]:
        """Begin a conversation, continuing from the `turns` among the options; all options go with each question."""

        def ask(question: str, turns: Sequence[Turn]) -> AsyncStream:
            said = options.copy()
            said["turns"] = list(turns)
            return self.ask(question, **said)

        return Chat(ask, options.get("turns", []))

    @checked
    def compose(
        self, text: str = "", cursor: int | None = None, *, tokens: int = SUGGESTED, memory: bool = True
    ) -> AsyncComposer:
        """Compose a text; see Client.compose. Call it inside `async with`, on the loop that will iterate."""
        if self._connection is None:
            raise RuntimeError("use AsyncClient inside 'async with'")
        edited = EditedText(self._connection.topic, text, cursor, tokens=tokens, memory=memory)
        return AsyncComposer(self._connection, edited)

    @checked
    async def status(self, wait_s: float = 5.0) -> Status:
        """Return the daemon's status; see Client.status."""
        return await self._asked(StatusRequest(request=os.urandom(16)), Status, wait_s)

    @checked
    async def switch_link(self, *, cut: bool, wait_s: float = 5.0) -> None:
        """Cut the device off from the cloud, or let it connect again; see Client.switch_link."""
        await self._asked(SwitchLink(request=os.urandom(16), cut=cut), LinkSwitched, wait_s)

    @checked
    async def explain(self, number: bytes, wait_s: float = 5.0) -> dict[str, Any]:
        """Return the record of a request; see Client.explain."""
        return record_in(await self._asked(Explain(request=os.urandom(16), number=number), Explained, wait_s))

    @checked
    async def account(self, wait_s: float = 5.0) -> Account:
        """Return the bits that documents have disclosed; see Client.account."""
        return await self._asked(ShowAccount(request=os.urandom(16)), Account, wait_s)

    async def _asked(self, message: Request, kind: type[T], wait_s: float) -> T:
        if self._connection is None:
            raise RuntimeError("use AsyncClient inside 'async with'")
        inbox = Inbox[Message]()
        self._connection.expect(message.request, inbox.put)
        try:
            self._connection.send(message)
            return reply_of(await inbox.get(wait_s), kind, wait_s)
        finally:
            self._connection.forget(message.request)


class AsyncStream(Reader):
    """The answer as it comes: `async for token in stream`, `await stream.result()`, `stream.cancel()`."""

    def __init__(self, connection: Connection, question: str | None, options: Options) -> None:
        self._inbox: Inbox[Message] = Inbox()
        super().__init__(connection, question, options, self._inbox.put)

    async def __aiter__(self) -> AsyncIterator[Token]:
        async for event in self.events():
            if isinstance(event, Token):
                yield event

    async def events(self) -> AsyncIterator[Token | Thought | Waiting | Notice | Done]:
        """Yield every unread event in order, Done last. Raises the error that ended the request, if one did."""
        while not self._over:
            event = self._next()
            if event is None:
                self._take(await self._inbox.get(self._wait_s))
            else:
                await asyncio.sleep(self._pause_s(event))
                yield event

    async def accepted(self, wait_s: float) -> bool:
        """Wait up to `wait_s`; tell whether the daemon has accepted the question. Raises its refusal."""
        deadline = Deadline.after(wait_s)
        while not self._assembly.accepted and self._error is None and not deadline.passed:
            self._take(await self._inbox.get(min(self._wait_s, deadline.left_s)))
        if self._error is not None and not self._ready:
            raise self._error
        return self._assembly.accepted

    async def result(self) -> Done:
        """Wait for the end, skipping unread tokens, and return it. Raises as `events` does."""
        async for _ in self.events():
            pass
        return self._done()
