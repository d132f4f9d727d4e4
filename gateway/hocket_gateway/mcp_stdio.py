"""The gateway's tools on standard input and output, for hosts that start a program: messages are passed on unread."""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import Protocol

import anyio
import httpx2
import structlog
from mcp.client.streamable_http import streamable_http_client
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

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
        tasks.start_soon(_pass, from_gateway, to_host)
        await _pass(from_host, to_gateway)
        tasks.cancel_scope.cancel()


async def _check(url: str, headers: dict[str, str]) -> None:
    try:
        async with httpx2.AsyncClient(headers=headers, timeout=HEALTH_S) as http:
            status = (await http.get(f"{url}/status")).status_code
    except httpx2.HTTPError as error:
        raise Unavailable(f"no gateway answers at {url}", "start it: hocket up --serve") from error
    if status in (401, 403):
        raise Forbidden(f"the gateway at {url} requires a key", "make one: hocket serve keys new NAME, and set --key")


async def _pass(source: AsyncIterable[SessionMessage | Exception], sink: Sink) -> None:
    """Pass messages on; what is none is left out, and named in the log."""
    async for message in source:
        if isinstance(message, Exception):
            log.warning("no message", error=str(message))
        else:
            await sink.send(message)
