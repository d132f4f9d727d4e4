"""The gateway's tools on standard input and output, for hosts that start a program: messages are passed on unread."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable
from typing import Protocol

import anyio
import httpx2
import structlog
from mcp.client.streamable_http import streamable_http_client
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse, RequestId

from hocket_bus.errors import Forbidden, Unavailable

HEALTH_S = 5.0
ANSWER_S = 600.0  # an answer is one message, and may take this long
log = structlog.get_logger(__name__)


class Sink(Protocol):
    """Whatever takes messages."""

    async def send(self, item: SessionMessage, /) -> None:
        """Take one."""


def serve_stdio(url: str, key: str) -> None:
    """Pass messages between standard input and output and the gateway at `url`, until the input ends.

    Raises Unavailable where no gateway answers, Forbidden where it wants another key.
    """
    anyio.run(_serve, url, {"authorization": f"Bearer {key}"} if key else {})


async def _serve(url: str, headers: dict[str, str]) -> None:
    await _check(url, headers)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=ANSWER_S) as http,
        streamable_http_client(f"{url}/mcp", http_client=http) as (from_gateway, to_gateway),
        stdio_server() as (from_host, to_host),
        anyio.create_task_group() as tasks,
    ):
        waiting = _Waiting()
        tasks.start_soon(_answer, from_gateway, to_host, waiting)
        async for message in _valid(from_host):
            waiting.asked(message)
            await to_gateway.send(message)
        await waiting.end()
        await to_host.aclose()  # else what writes to the host waits for more
        tasks.cancel_scope.cancel()


async def _check(url: str, headers: dict[str, str]) -> None:
    try:
        async with httpx2.AsyncClient(headers=headers, timeout=HEALTH_S) as http:
            status = (await http.get(f"{url}/status")).status_code
    except httpx2.HTTPError as error:
        raise Unavailable(f"no gateway answers at {url}", "start it: hocket up --serve") from error
    if status in (401, 403):
        raise Forbidden(f"the gateway at {url} requires a key", "make one: hocket serve keys new NAME, and set --key")


async def _answer(source: AsyncIterable[SessionMessage | Exception], to_host: Sink, waiting: _Waiting) -> None:
    async for message in _valid(source):
        await to_host.send(message)
        waiting.answered(message)


async def _valid(source: AsyncIterable[SessionMessage | Exception]) -> AsyncGenerator[SessionMessage]:
    """Yield the messages; log what is not one, and leave it out."""
    async for message in source:
        if isinstance(message, Exception):
            log.warning("no message", error=str(message))
        else:
            yield message


class _Waiting:
    """The requests of a host that wait for their answers: it may read them after it has closed its own end."""

    def __init__(self) -> None:
        self._ids: set[RequestId] = set()
        self._changed = anyio.Event()

    def asked(self, given: SessionMessage) -> None:
        """Note a request of the host."""
        if isinstance(given.message, JSONRPCRequest):
            self._ids.add(given.message.id)

    def answered(self, given: SessionMessage) -> None:
        """Note an answer of the gateway."""
        if isinstance(given.message, JSONRPCResponse | JSONRPCError) and given.message.id is not None:
            self._ids.discard(given.message.id)
            self._changed.set()

    async def end(self) -> None:
        """Wait until all are answered, at most ANSWER_S."""
        with anyio.move_on_after(ANSWER_S):
            while self._ids:
                self._changed = anyio.Event()
                await self._changed.wait()
