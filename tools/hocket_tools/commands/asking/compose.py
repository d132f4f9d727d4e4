"""`hocket compose`: prose that is completed as it is typed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hocket_bus.messages import SUGGESTED
from hocket_tools.commands.options import Endpoint, Memory, PairHome, SuggestedTokens

EXAMPLE = """Examples:

hocket compose letter.txt

printf '%s\\n' '{"version": 1, "text": "The ferry to Bright", "cursor": 19}' | hocket compose --json"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compose", epilog=EXAMPLE)(compose)


def compose(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="The text to go on with; Ctrl-S saves it there.")
    ] = None,
    *,
    tokens: SuggestedTokens = SUGGESTED,
    memory: Memory = True,
    endpoint: Endpoint = None,
    home: PairHome = None,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE.svg", help="Draw the editor's screen with its suggestion, and leave."),
    ] = None,
    json_lines: Annotated[
        bool, typer.Option("--json", help="Read a text per line from standard input, print one JSON object per event.")
    ] = False,
) -> None:
    """Write, and read in grey what may come next.

    Tab takes the suggestion, Ctrl-Right its first word, Esc nothing. Ctrl-S saves, Ctrl-Q leaves. Without FILE the text
    is printed when you leave.

    The device writes suggestions from the text and from memory: sentences of its own documents and of the cloud's.
    What is new of the text is sent for that, at most 64 words, without mail addresses and long numbers.
    """
    from hocket_bus.errors import BadRequest
    from hocket_client import Client
    from hocket_tools.pair.meant import meant

    if json_lines and (file or picture):
        raise BadRequest("--json reads texts from standard input and draws none", "leave FILE and --picture out")
    where, keys = meant(endpoint, home)
    with Client(where, keys=keys) as client:
        if json_lines:
            from hocket_tools.editor.programs import serve

            serve(client, tokens=tokens, memory=memory)
        elif picture is not None:
            from hocket_tools.editor.screen import draw

            draw(client, file, picture, tokens=tokens, memory=memory)
        else:
            from hocket_tools.editor.screen import edit

            edit(client, file, tokens=tokens, memory=memory)
