"""The path `/mcp`: device and cloud for hosts of the Model Context Protocol, by its official SDK."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, GetPromptResult, InputRequiredResult, ToolAnnotations
from pydantic import ValidationError
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from ..http.body import whole_body
from .mcp_resources import add_prompts, add_resources
from .mcp_tools import TOOLS, ask

INSTRUCTIONS = (
    "hocket answers questions from the private documents of this device and the public ones of a cloud. Use `ask` for "
    "an answer with its sources, `search` for passages of the device only and `fetch` for a whole document; these two "
    "send nothing to the cloud. The device's documents are also resources."
)


class _Server(MCPServer[Any]):
    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool. Raises ToolError, which names wrong arguments in one line; the SDK's has several, and a link."""
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            wrong = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.__cause__.errors()]
            raise ToolError(f"{name} does not take these arguments ({'; '.join(wrong)})") from error

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """Return a prompt. Raises MCPError, which says what is wrong; the SDK takes it for a fault of the server."""
        prompts = {prompt.name: prompt.arguments or [] for prompt in await self.list_prompts()}
        needed = {each.name for each in prompts.get(name, []) if each.required}
        try:
            return await super().get_prompt(name, arguments, context)
        except ValueError as error:
            if name not in prompts:
                text = f"there is no prompt '{name[:100]}': use one of {', '.join(prompts)}"
            elif lacking := sorted(needed - {*(arguments or {})}):
                text = f"{name} needs {', '.join(lacking)}"
            else:
                text = f"{name} takes {', '.join(each.name for each in prompts[name])} alone"
            raise MCPError(code=INVALID_PARAMS, message=text) from error


class McpEndpoint:
    """The path as an ASGI application; `manager.run()` surrounds all its requests."""

    def __init__(self, max_body_bytes: int) -> None:
        server = _Server("hocket", instructions=INSTRUCTIONS, version=version("hocket"))
        for tool in TOOLS:
            reads = ToolAnnotations(read_only_hint=True, open_world_hint=tool is ask)  # which asks the cloud
            server.add_tool(tool, annotations=reads)
        add_resources(server)
        add_prompts(server)
        self._max_body_bytes = max_body_bytes
        server.streamable_http_app(
            stateless_http=True,  # nothing of a person's is kept between two requests
            max_request_body_size=max_body_bytes,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # guard.py does that
        )
        self.manager: StreamableHTTPSessionManager = server.session_manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the SDK once its body is whole: the SDK would wait for it for ever. Raises Refusal."""
        body = await whole_body(Request(scope, receive), self._max_body_bytes)
        parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return parts.pop() if parts else await receive()

        await self.manager.handle_request(scope, replay, send)
