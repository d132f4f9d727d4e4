"""The asynchronous client: `async for token in client.ask("…")`; the blocking one's reader, other waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Unpack

from hocket_bus.messages import Done, Message, Notice, Token
from hocket_bus.paths import default_endpoint

from .connection import Connection
from .question import Options
from .reader import Reader


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

    def ask(self, question: str, **options: Unpack[Options]) -> AsyncStream:
        """Ask; call it inside `async with`, on the loop that will iterate. For what can be said besides see `Options`.

        Raises BadRequest for options out of range, Cancelled after `close`.
        """
        if self._connection is None:
            raise RuntimeError("use AsyncClient inside 'async with'")
        return AsyncStream(self._connection, question, options)


class AsyncStream(Reader):
    """The answer as it comes: `async for token in stream`, `await stream.result()`, `stream.cancel()`."""

    def __init__(self, connection: Connection, question: str, options: Options) -> None:
        self._inbox = _Inbox()
        super().__init__(connection, question, options, self._inbox.put)

    async def __aiter__(self) -> AsyncIterator[Token]:
        async for event in self.events():
            if isinstance(event, Token):
                yield event

    async def events(self) -> AsyncIterator[Token | Notice | Done]:
        """Every event not read yet, in order, Done last. Raises what ended the request, if an error did."""
        while not self._over:
            event = self._next()
            if event is None:
                self._take(await self._inbox.get(self._wait_s))
            else:
                await asyncio.sleep(self._pause_s(event))
                yield event

    async def result(self) -> Done:
        """Wait for the end, skipping tokens nobody read. Raises as `events` does."""
        async for _ in self.events():
            pass
        return self._done()


class _Inbox:
    """A queue from the I/O thread into the running loop."""

    def __init__(self) -> None:
        self._messages: SimpleQueue[Message] = SimpleQueue()
        self._arrived = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def put(self, message: Message) -> None:
        """Safe from any thread, also when the loop has been closed."""
        self._messages.put(message)
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._arrived.set)

    async def get(self, timeout_s: float) -> Message | None:
        """The next message; None when none has come after `timeout_s`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self._messages.empty():
                    self._arrived.clear()
                    await self._arrived.wait()
        return None if self._messages.empty() else self._messages.get_nowait()
