"""Turns for requests to the retrieval daemon: so many run at once, and keys take turns."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hocket_bus.limits.turns import Turns

from ..http.refusals import Refusal

AT_ONCE = 4
OF_ONE = 2  # of them, while others may come
MAX_WAITING = 32  # of one person
WAIT_S = 60.0


class DocumentTurns:
    """The turns of all people, by account; on one event loop."""

    def __init__(self) -> None:
        self._there: Counter[str] = Counter()
        self._waiting: Turns[str, tuple[str, asyncio.Future[None]]] = Turns()

    @asynccontextmanager
    async def turn(self, account: str) -> AsyncIterator[None]:
        """Wait for a turn and hold it. Raises Refusal if too many of this person wait, or no turn came in time."""
        await self._enter(account)
        try:
            yield
        finally:
            self._leave(account)

    async def _enter(self, account: str) -> None:
        if self._waiting.length(account) >= MAX_WAITING:
            text = f"{MAX_WAITING} requests of this key wait for the retrieval daemon"
            raise Refusal(429, text, "ask fewer at once", "busy", retry_after_s=1.0)
        called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.put(account, (account, called))
        self._call()
        try:
            async with asyncio.timeout(WAIT_S):
                await called
        except BaseException as error:
            if called.done() and not called.cancelled():
                self._leave(account)
            self._waiting.drop(account, lambda each: each[1] is called)
            if not isinstance(error, TimeoutError):
                raise
            text = "earlier requests to the retrieval daemon take long"
            raise Refusal(503, text, "ask again in a moment", "busy", retry_after_s=1.0) from error

    def _leave(self, account: str) -> None:
        self._there[account] -= 1
        if not self._there[account]:
            del self._there[account]
        self._call()

    def _call(self) -> None:
        """Admit waiting requests that may run now."""
        while self._there.total() < AT_ONCE:
            full = {account for account, number in self._there.items() if number >= OF_ONE}
            found = self._waiting.take(full)
            if found is None:
                return
            account, called = found
            if not called.done():
                self._there[account] += 1
                called.set_result(None)
