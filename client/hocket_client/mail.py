"""What has come of a text that is composed: news in order, and what went wrong; by whom it is read it does not know."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from hocket_bus.messages import Remembered, Suggestion

News = Suggestion | Remembered
Item = News | Exception


class Mail:
    """Filled on the I/O thread, read by any others: several may wait, and each sees what it waits for."""

    def __init__(self) -> None:
        self._news: deque[News] = deque()
        self._error: Exception | None = None
        self._changed = threading.Condition()

    def put(self, item: Item) -> None:
        """Something has come."""
        if isinstance(item, Exception):
            self._error = item
        else:
            self._news.append(item)
        self.wake()

    def wake(self) -> None:
        """Whoever waits looks again."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, holds: Callable[[], object], timeout_s: float) -> bool:
        """Whether it holds by then, or something went wrong."""
        with self._changed:
            return bool(self._changed.wait_for(lambda: self._error or holds(), timeout_s))

    def next(self) -> News | None:
        """The next news, if there is any."""
        try:
            return self._news.popleft()
        except IndexError:
            return None

    def check(self) -> None:
        """Raises what went wrong, once."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def __bool__(self) -> bool:
        """Whether there is news."""
        return bool(self._news)


class AsyncMail(Mail):
    """Read on the loop that runs when it is made."""

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._arrived = asyncio.Event()

    def wake(self) -> None:
        """Safe from any thread, also when the loop has been closed."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._ring)

    async def wait_here(self, holds: Callable[[], object], timeout_s: float) -> bool:
        """The same as `wait`, for the loop."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not (self._error or holds()):
                    await self._arrived.wait()
        return bool(self._error or holds())

    def _ring(self) -> None:
        arrived, self._arrived = self._arrived, asyncio.Event()
        arrived.set()
