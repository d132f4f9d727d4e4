"""`hocket store`: where a side's documents are kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hocket_tools.commands.library.documents import Home, Json, Side

if TYPE_CHECKING:
    from hocket_retrieval.config import StoreConfig

app = typer.Typer(
    help="Where a side's documents are kept: a file here, LanceDB, or PostgreSQL.",
    epilog="Which kind for which machine: docs/stores.md",
    no_args_is_help=True,
)


def register(hocket: typer.Typer) -> None:
    """Add the commands."""
    hocket.add_typer(app, name="store")


@app.command(epilog="Example: hocket store move --side cloud --to lancedb --place /srv/hocket/documents")
def move(
    side: Side,
    to: Annotated[Literal["sqlite", "lancedb", "postgres"], typer.Option(help="Kind of the new store.")],
    *,
    place: Annotated[
        str,
        typer.Option(
            metavar="PLACE", help="Folder, bucket or connection string of the new store, as in \\[store] place."
        ),
    ] = "",
    home: Home = None,
    json_object: Json = False,
) -> None:
    """Copy a side's documents into another store, compare both, and print what to write into its configuration.

    The side's retrieval daemon must be stopped. The old store is not changed. An interrupted move resumes if
    repeated.
    """
    from hocket_bus import paths
    from hocket_bus.config import load
    from hocket_retrieval.config import RetrievalConfig, StoreConfig
    from hocket_retrieval.service.relocation import relocate
    from hocket_tools import console
    from hocket_tools.pair.home import Home as Pair

    pair = Pair.find(home)
    file = pair.config(f"{side}-retrieval")
    config = load(file, RetrievalConfig)
    if to == "lancedb" and place and "://" not in place:
        place = str(paths.expanded(Path(place)).absolute())  # as it is from here; the daemon's folder is another one
    target = StoreConfig(kind=to, place=place)
    if target == config.store:
        raise typer.BadParameter(f"the documents of the {side} are there already", param_hint="--to")
    with console.err().status("copying") as line:
        moved = relocate(config, target, lambda done, total: line.update(f"copying: {done:,} of {total:,} documents"))
    if json_object:
        console.print_json(moved._asdict() | {"kind": to, "place": place})
        return
    typer.echo(f"{moved.documents:,} documents with {moved.chunks:,} passages are the same in both stores.")
    typer.echo(f"Under [store] in {file} write:\n\n{_lines(target)}\n")
    typer.echo("Then start the pair: hocket up")


def _lines(store: StoreConfig) -> str:
    from hocket_bus.config import quoted

    return f'kind = "{store.kind}"\nplace = {quoted(store.place)}'
