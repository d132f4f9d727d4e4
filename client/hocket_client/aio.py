"""The asynchronous client: `async for token in client.ask("…")`; the blocking one's assembly, other waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from hocket_bus.deadline import Deadline
from hocket_bus.messages import Done, Message, Notice, Token
from hocket_bus.places import default_endpoint

from .assembly import SILENCE_S, Assembly
from .client import GRACE_S
from .connection import Connection
from .question import ask_message


class AsyncClient:
    """A connection to a daemon: `async with AsyncClient() as client`."""

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
        if self._connection is not None:
            await asyncio.to_thread(self._connection.close)

    def ask(self, question: str, **options: Any) -> AsyncStream:  # noqa: ANN401 - the options are ask_message's
        """Ask; call it inside `async with`, on the loop that will iterate. Options: see `ask_message`.

        Raises BadRequest for options out of range, Cancelled after `close`.
        """
        if self._connection is None:
            raise RuntimeError("use AsyncClient inside 'async with'")
        return AsyncStream(self._connection, question, options)


class AsyncStream:
    """The answer as it comes: `async for token in stream`, `await stream.result()`, `stream.cancel()`."""

    def __init__(self, connection: Connection, question: str, options: dict[str, Any]) -> None:
        self._connection = connection
        self._assembly = Assembly(ask_message(question, topic=connection.topic, **options))
        self._deadline = Deadline.after(self._assembly.ask.deadline_s + GRACE_S)
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        connection.expect(self._assembly.ask.request, self._receive, self._assembly.nudge)
        connection.send(self._assembly.ask)

    def _receive(self, message: Message) -> None:
        """Called on the I/O thread."""
        self._loop.call_soon_threadsafe(self._inbox.put_nowait, message)

    def __aiter__(self) -> AsyncIterator[Token]:
        return self._tokens()

    async def _tokens(self) -> AsyncIterator[Token]:
        async for event in self.events():
            if isinstance(event, Token):
                yield event

    async def events(self) -> AsyncIterator[Token | Notice | Done]:
        """Every event in order, Done last. Raises what ended the request, if an error did."""
        try:
            while self._assembly.done is None:
                for event in self._assembly.feed(await self._next()):
                    yield event
                self._connection.send(*self._assembly.reply())
        finally:
            if self._assembly.done is None:
                self.cancel()
            self._connection.forget(self._assembly.ask.request)

    async def result(self) -> Done:
        """Wait for the end. Raises as `events` does."""
        async for _ in self.events():
            pass
        assert self._assembly.done is not None
        return self._assembly.done

    def cancel(self) -> None:
        """Ask the daemon to stop, again after a break. The stream then ends with finish 'cancelled'."""
        self._connection.send(self._assembly.cancel())

    async def _next(self) -> Message:
        while not self._deadline.passed:
            try:
                return await asyncio.wait_for(self._inbox.get(), min(SILENCE_S, self._deadline.left_s))
            except TimeoutError:
                self._connection.send(*self._assembly.nudge())
        raise self._assembly.overdue()
