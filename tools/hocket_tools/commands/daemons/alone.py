"""`hocket alone`: cuts the device off from the cloud, or lets it connect again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

EXAMPLE = """Examples:

hocket alone on

hocket alone off"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("alone", epilog=EXAMPLE)(alone)


def alone(
    what: Annotated[Literal["on", "off"], typer.Argument(help="Whether this device answers alone from now on.")],
    *,
    home: Annotated[Path | None, typer.Option(metavar="PATH", help="The pair's folder.", envvar="HOCKET_HOME")] = None,
) -> None:
    """Cut the device off from the cloud and from any remote server, or let it connect again.

    Running answers continue on the device alone, and so do later ones. The setting survives a restart of the daemon.
    """
    from hocket_bus import messages as m
    from hocket_tools.caller import Caller
    from hocket_tools.pair.home import Home

    here, request = Home.find(home), os.urandom(16)
    with Caller(here.reached("device"), keys=here.at / "keys", role="device") as caller:
        switched = caller.ask(m.SwitchLink(request=request, cut=what == "on"), m.LinkSwitched)
    typer.echo(
        "the link to the cloud is cut: this device answers alone"
        if switched.cut
        else "the link to the cloud is restored"
    )
