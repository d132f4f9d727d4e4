"""A queue from the I/O thread into a running loop."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from queue import SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")


class Inbox(Generic[T]):
    """A queue for the event loop that runs when it is made."""

    def __init__(self) -> None:
        self._items: SimpleQueue[T] = SimpleQueue()
        self._arrived = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def put(self, item: T) -> None:
        """Add an item; safe from any thread, also when the loop has been closed."""
        self._items.put(item)
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._arrived.set)

    async def get(self, timeout_s: float) -> T | None:
        """Return the next item; None if none has come after `timeout_s`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self._items.empty():
                    self._arrived.clear()
                    await self._arrived.wait()
        return None if self._items.empty() else self._items.get_nowait()
