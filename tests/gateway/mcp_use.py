"""`/mcp` by the client of the official SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from waiting import WAIT_S

Use = Callable[[Client], Awaitable[Any]]


def used(url: str, use: Use, key: str = "") -> Any:
    """Return what `use` makes of a connected client. Raises MCPError, out of the groups that it comes in."""

    async def connected() -> Any:
        headers = {"authorization": f"Bearer {key}"} if key else {}
        async with httpx2.AsyncClient(headers=headers, timeout=WAIT_S) as http:
            transport = streamable_http_client(f"{url}/mcp", http_client=http)
            async with Client(transport) as client:
                try:
                    return await use(client)
                except MCPError as error:
                    return error

    found = asyncio.run(connected())
    if isinstance(found, MCPError):
        raise found
    return found


def called(url: str, tool: str, key: str = "", **arguments: object) -> Any:
    """The result of a tool."""
    return used(url, lambda client: client.call_tool(tool, arguments), key)


def tools(url: str, key: str = "") -> dict[str, Any]:
    """All tools, by name."""
    return {tool.name: tool for tool in used(url, lambda client: client.list_tools(), key).tools}
