"""`hocket search`: the passages that fit a question, as a side finds them and without any model's answer."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from hocket_tools.commands.library.documents import Endpoint, Home, Json, Side, endpoint_of


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("search", epilog='Example: hocket search --side device "Who services the boiler?"')(search)


def search(
    side: Side,
    query: Annotated[str, typer.Argument(metavar="QUESTION", help="A question, a name or some words.")],
    *,
    within: Annotated[
        list[str] | None,
        typer.Option("--in", metavar="PATH", help="Search only this folder or document; repeatable."),
    ] = None,
    passages: Annotated[int, typer.Option("--passages", "-n", min=1, max=64, help="Number of passages to show.")] = 5,
    endpoint: Endpoint = None,
    home: Home = None,
    json_object: Json = False,
) -> None:
    """Show the passages that a side finds, best first, with their scores and texts."""
    from hocket_bus import messages as m
    from hocket_bus import paths
    from hocket_tools import console
    from hocket_tools.caller import Caller
    from hocket_tools.pair.meant import folders_named

    if not query.strip():
        raise typer.BadParameter("is empty", param_hint="QUESTION")
    folders = folders_named(within)
    asked = m.Search(request=os.urandom(16), query=query, k=passages, within=list(folders))
    with Caller(endpoint_of(side, endpoint, home), keys=paths.keys(home), role="retrieval") as caller:
        found = caller.ask(asked, m.Passages)
    if json_object:
        console.print_json({"side": side, "scorer": found.scorer, "passages": found.passages, "older": found.older})
        return
    out = console.out()
    for passage in found.passages:
        name = console.for_people(console.one_line(passage.document), out)
        out.print(f"{passage.score:6.3f}  {name}, {console.place_of(passage)}", markup=False)
        out.print(f"        {' '.join(console.one_line(passage.text).split())}", markup=False)
        for led in passage.led:
            name = console.for_people(console.one_line(led.document), out)
            out.print(f"        leads to {name}, {console.place_of(led)}, which is read with it", markup=False)
    for each in found.older:
        name, newer = (console.for_people(console.one_line(path), out) for path in (each.document, each.newer))
        out.print(f" older  {name} of {each.time} is left out: {newer} of {each.newer_time} is newer", markup=False)
    if not found.passages:
        where = f" in {', '.join(folders)}" if folders else ""
        what = f"nothing is found{where}" if found.documents_total else "nothing is read yet"
        console.err().print(f"{side}: {what}; add documents with: hocket ingest --side {side} PATH…", markup=False)
