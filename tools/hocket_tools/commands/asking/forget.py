"""`hocket forget`: removes records of requests, so that `hocket explain` knows nothing of them any more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

EXAMPLE = """Examples:

hocket forget 3f2a

hocket forget --all"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("forget", epilog=EXAMPLE)(forget)


def forget(
    numbers: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]…", help="IDs of requests, or their first characters: see hocket explain --list."),
    ] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="Delete every record of this side.")] = False,
    side: Annotated[Literal["device", "cloud"], typer.Option(help="Whose records.")] = "device",
    home: Annotated[Path | None, typer.Option(metavar="PATH", help="The pair's folder.", envvar="HOCKET_HOME")] = None,
) -> None:
    """Delete the records of requests: question, passages found, times. The text is erased from the file, too.

    Documents stay (to remove them: hocket documents --remove), and so do the byte counts that hocket audit prints. To
    keep no records at all, remove `decisions` from the daemon's file.
    """
    from hocket_daemon.serving.records import decisions
    from hocket_tools.pair.home import Home

    if bool(numbers) == everything:
        raise typer.BadParameter("name requests, or pass --all", param_hint="ID")
    path = Home.find(home).decisions(side)
    named = [decisions.named(path, number) for number in numbers or ()]
    parts = [part["ID"] for each in named for part in each.record.get("parts", [])]
    chosen = None if everything else [*(each.id for each in named), *parts]
    count = decisions.forget(path, chosen)
    typer.echo(f"forgotten: {count} record{'' if count == 1 else 's'} of the {side}")
