"""Responses that continue without a reader: one that was cut off can come back and resume where it was."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

MAX_ENDED = 16  # whose events are held; what is stored can be read whole for longer


class Running:
    """A response: its events so far, of which number n has the sequence number n, and its present state."""

    def __init__(self, person: str, begun: dict[str, Any]) -> None:
        """Set up a person's response; `begun` is its state as it begins."""
        self.person = person
        self.resource = begun
        self._events: list[bytes] = []
        self._grown = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def has_ended(self) -> bool:
        """Tell whether no event will follow."""
        return self._task is not None and self._task.done()

    def start(self, events: AsyncGenerator[bytes], close: Callable[[], None]) -> None:
        """Read the events to their end, then call `close`."""
        self._task = asyncio.create_task(self._read(events, close))
        self._task.add_done_callback(lambda _: self._wake())

    async def follow(self, after: int) -> AsyncGenerator[bytes]:
        """Yield the events after number `after`, including those to come."""
        at = after + 1
        while True:
            grown = self._grown  # before the look: what comes behind it wakes
            while at < len(self._events):
                yield self._events[at]
                at += 1
            if self.has_ended:
                return
            await grown.wait()

    async def cancel(self) -> None:
        """End the response; one that has ended stays as it is."""
        if self._task is None or self._task.done():
            return
        self._task.cancel()
        await asyncio.wait({self._task})
        self.resource = self.resource | {"status": "cancelled"}

    async def _read(self, events: AsyncGenerator[bytes], close: Callable[[], None]) -> None:
        try:
            async for event in events:
                self._events.append(event)
                self._wake()
        finally:
            close()

    def _wake(self) -> None:
        self._grown.set()
        self._grown = asyncio.Event()


class BackgroundResponses:
    """The responses of a gateway by id; of those that have ended, only the latest."""

    def __init__(self) -> None:
        self._running: dict[str, Running] = {}

    def put(self, id: str, running: Running) -> None:
        """Add a response."""
        self._running[id] = running
        ended = [id for id, each in self._running.items() if each.has_ended]
        for oldest in ended[:-MAX_ENDED]:
            del self._running[oldest]

    def find(self, id: str, person: str) -> Running | None:
        """Return a response of this person, or None."""
        running = self._running.get(id)
        return running if running is not None and running.person == person else None

    async def forget(self, id: str) -> None:
        """End a response and remove it."""
        running = self._running.pop(id, None)
        if running is not None:
            await running.cancel()

    async def close(self) -> None:
        """End all responses."""
        for id in list(self._running):
            await self.forget(id)
