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
        Path | None, typer.Argument(metavar="[FILE]", help="Text file to continue; Ctrl-S saves to it.")
    ] = None,
    *,
    tokens: SuggestedTokens = SUGGESTED,
    memory: Memory = True,
    endpoint: Endpoint = None,
    home: PairHome = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--picture", metavar="FILE.svg", help="Save a picture of the editor with its suggestion, and exit."
        ),
    ] = None,
    json_lines: Annotated[
        bool,
        typer.Option("--json", help="Read one text per line from standard input and print one JSON object per event."),
    ] = False,
) -> None:
    """Write a text, with suggestions in grey.

    Tab accepts the suggestion, Ctrl-Right its first word, Esc rejects it. Ctrl-S saves, Ctrl-Q quits. Without FILE the
    text is printed when you quit.

    The device writes suggestions from the text and from memory: sentences of its own documents and of the cloud's.
    For this the new part of the text is sent, at most 64 words, without mail addresses and long numbers.
    """
    from hocket_bus.errors import BadRequest
    from hocket_client import Client
    from hocket_tools.pair.meant import meant

    if json_lines and (file or picture):
        raise BadRequest("--json reads texts from standard input only", "leave FILE and --picture out")
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
