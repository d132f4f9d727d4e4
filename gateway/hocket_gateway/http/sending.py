"""Responses to a client that may leave at any moment: event streams, and whole answers that are waited for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hocket_bus import as_json

T = TypeVar("T")
KEEP_ALIVE_S = 10.0
COMMENT = b": keep-alive\n\n"
GONE = Response(status_code=499)  # nobody reads it


def json_response(value: object, status: int = 200) -> Response:
    """Return a whole response with a value as JSON."""
    return Response(as_json.encoded(value), status, media_type="application/json")


class EventStream(Response):
    """A stream that sends each piece as it comes, and a `comment` (if any) at times, until the client leaves."""

    def __init__(
        self,
        fragments: AsyncGenerator[bytes],
        close: Callable[[], None],
        *,
        media_type: str = "text/event-stream",
        comment: bytes = COMMENT,
    ) -> None:
        """Set up a stream; `close` is called at the end, whoever caused it."""
        super().__init__(media_type=media_type, headers={"x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._fragments = fragments
        self._close = close
        self._comment = comment

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        """Send the pieces. Raises what the pieces raise."""
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            if await _while_there(receive, self._sent(send)):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await self._fragments.aclose()
            self._close()

    async def _sent(self, send: Send) -> bool:
        beating = asyncio.create_task(self._beat(send))
        try:
            async for piece in self._fragments:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        finally:
            beating.cancel()
            await asyncio.wait({beating})
        return True

    async def _beat(self, send: Send) -> None:
        while self._comment:
            await asyncio.sleep(KEEP_ALIVE_S)
            await send({"type": "http.response.body", "body": self._comment, "more_body": True})


async def whole(request: Request, answered: Awaitable[Response], close: Callable[[], None]) -> Response:
    """Return the answer when it is ready, or GONE once the client has left. `close` is called at the end."""
    try:
        return await _while_there(request.receive, answered) or GONE
    finally:
        close()


async def _while_there(receive: Receive, work: Awaitable[T]) -> T | None:
    """Return the result of `work`; None if the client has left first, and `work` was cancelled."""
    working, leaving = asyncio.ensure_future(work), asyncio.create_task(_left(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.wait({working, leaving})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
