"""`hocket mcp`: the pair's tools for programs that start an MCP server themselves."""

from __future__ import annotations

from typing import Annotated

import typer

from hocket_tools.commands.options import PairHome

EXAMPLE = """Example:

HOCKET_KEY=… hocket mcp --home ~/.local/state/hocket

In the file where your program lists its MCP servers:

{"mcpServers": {"hocket": {"command": "hocket", "args": ["mcp"]}}}"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("mcp", epilog=EXAMPLE)(mcp)


def mcp(
    *,
    key: Annotated[
        str, typer.Option(envvar="HOCKET_KEY", help="Key of hocket serve keys, where the gateway requires one.")
    ] = "",
    home: PairHome = None,
) -> None:
    """Offer questions, searches and documents as MCP tools on standard input and output.

    Programs that use such tools start it. It passes messages to the pair's HTTP gateway, which must run: hocket up
    --serve. Programs that connect by HTTP need no command: see docs/serve.md.
    """
    from hocket_bus import log
    from hocket_bus.errors import BadConfiguration
    from hocket_bus.missing import lack

    try:
        from hocket_gateway.mcp_stdio import serve_stdio
    except ImportError as error:
        raise BadConfiguration(*lack("hocket mcp", "hocket_gateway", "pip install 'hocket[serve]'", error)) from error
    from hocket_tools.pair.front import address, serve_settings

    settings = serve_settings(home)
    log.setup(settings.log_level, settings.log_format)
    serve_stdio(f"http://{address(settings)}", key)
