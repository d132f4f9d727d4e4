"""`hocket lsp`: prose that is completed as it is typed, in editors."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Annotated

import typer

from hocket_bus.messages import SUGGESTED
from hocket_tools.commands.options import Endpoint, Memory, PairHome, SuggestedTokens

if TYPE_CHECKING:
    from hocket_client import AsyncClient

CONNECT_S = 2.0
EXAMPLE = """Examples:

hocket lsp --lua > ~/.config/nvim/plugin/hocket.lua

hocket lsp --tokens 30 --no-memory"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("lsp", epilog=EXAMPLE)(lsp)


def lsp(
    *,
    tokens: SuggestedTokens = SUGGESTED,
    memory: Memory = True,
    endpoint: Endpoint = None,
    home: PairHome = None,
    lua: Annotated[bool, typer.Option("--lua", help="Print the plugin for Neovim and exit.")] = False,
) -> None:
    """Suggest text in an editor: a language server on standard input and output.

    Editors start it; it answers textDocument/inlineCompletion and textDocument/completion. See docs/editors.md.

    It sends the same data as hocket compose. It can start before the pair and keeps running after it stops.
    """
    if lua:
        typer.echo((files("hocket_tools.lsp") / "neovim.lua").read_text(encoding="utf-8"), nl=False)
        return
    from hocket_client import AsyncClient
    from hocket_tools.lsp.stdio import serve
    from hocket_tools.pair.meant import meant

    def make_client() -> AsyncClient:
        where, keys = meant(endpoint, home)
        return AsyncClient(where, connect_s=CONNECT_S, keys=keys)

    serve(make_client, tokens=tokens, memory=memory)
