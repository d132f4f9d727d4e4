"""The gateway's one connection to the device daemon; opened when it is first needed, and again after a failure."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hocket_bus.errors import HocketError
from hocket_bus.messages import Status
from hocket_client import AsyncClient

CONNECT_S = 2.0
STATUS_S = 2.0


class Upstream:
    """The client that all requests share: each question is a stream of its own in it."""

    def __init__(self, endpoint: str, keys: Path | None) -> None:
        self._endpoint = endpoint
        self._keys = keys
        self._opening: asyncio.Task[AsyncClient] | None = None

    async def client(self) -> AsyncClient:
        """Return the client, connected. Raises Unavailable if no daemon answers, or why it refuses."""
        if self._opening is None or (self._opening.done() and self._opening.exception() is not None):
            self._opening = asyncio.create_task(self._open())
        return await asyncio.shield(self._opening)  # who leaves does not take it from others

    async def status(self) -> Status | None:
        """Return the device daemon's status; None if it does not answer."""
        try:
            return await (await self.client()).status(STATUS_S)
        except HocketError:
            return None

    async def close(self) -> None:
        """Close the connection; running streams end in Cancelled at once."""
        if self._opening is not None:
            await asyncio.wait({self._opening})
            if self._opening.exception() is None:
                await self._opening.result().close()

    async def _open(self) -> AsyncClient:
        return await AsyncClient(self._endpoint or None, connect_s=CONNECT_S, keys=self._keys).__aenter__()
