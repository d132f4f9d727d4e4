"""`hocket members`: the signed list of the cloud daemons that a device may be with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hocket_bus.errors import BadConfiguration

if TYPE_CHECKING:
    from hocket_daemon.roles.membership import MemberList

app = typer.Typer(
    help="Several cloud daemons for each device: a list that their owner signs (docs/members.md).", no_args_is_help=True
)

Folder = Annotated[Path | None, typer.Option("--home", metavar="PATH", help="The pair's folder.", envvar="HOCKET_HOME")]
File = Annotated[Path, typer.Argument(metavar="FILE", dir_okay=False)]


def register(hocket: typer.Typer) -> None:
    """Add the commands."""
    hocket.add_typer(app, name="members")


@app.command(epilog="Example: hocket members new")
def new(home: Folder = None) -> None:
    """Make the owner's key, which signs lists; once, on a machine that runs no cloud daemon."""
    from hocket_bus.trust.keys import fingerprint
    from hocket_daemon.roles.membership import OWNER, new_owner

    folder = _folder(home)
    owner = new_owner(folder)
    typer.echo(f"the owner's key is {folder / OWNER}, fingerprint {fingerprint(owner)}; keep a copy offline")


@app.command(epilog="Example: hocket members entry >> list.toml")
def entry(home: Folder = None) -> None:
    """Print the entry of the cloud daemon that runs here, for the owner's list."""
    from hocket_bus.config import load
    from hocket_bus.trust.keys import Keys
    from hocket_daemon.config import CloudSettings
    from hocket_daemon.roles.membership import CloudMember, entry_lines
    from hocket_tools.caller import Caller
    from hocket_tools.pair.home import Home

    here = Home.find(home)
    here.require("cloud")
    folder = _folder(home)
    with Caller(here.listening("cloud"), keys=folder, role="cloud") as caller:
        model = caller.welcome.tokenizer
    capacity = load(here.config("cloud"), CloudSettings).max_sessions
    member = CloudMember(here.advertised(), Keys(folder).own.public, model, capacity)
    typer.echo("\n".join(entry_lines(here.name("cloud"), member)))


@app.command(epilog="Example: hocket members sign list.toml")
def sign(file: File, home: Folder = None) -> None:
    """Sign the list of these entries as its next version; give the file that this prints to each device."""
    from hocket_daemon.roles.membership import FILE, entries
    from hocket_daemon.roles.membership import sign as signed

    folder = _folder(home)
    _show(signed(folder, entries(file)))
    typer.echo(f"signed: {folder / FILE}; on each device: hocket members take members.toml")


@app.command(epilog="Example: hocket members take members.toml")
def take(file: File, home: Folder = None) -> None:
    """Import a signed list for the device here; the first one sets the trusted owner, later ones must have the same."""
    from hocket_bus.trust.keys import fingerprint
    from hocket_daemon.roles.membership import BY_LIST, read
    from hocket_daemon.roles.membership import take as taken
    from hocket_tools.commands.trust.keys import taken_over
    from hocket_tools.pair.home import Home

    here, folder = Home.find(home), _folder(home)
    here.require("device")
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadConfiguration(f"{file} is not UTF-8", "fetch it again from its owner") from error
    first = read(folder) is None
    found = taken(folder, text)
    _show(found)
    if first:
        typer.echo(f"its owner is {fingerprint(found.owner)}: compare that over another channel, such as the telephone")
    if here.peer() == BY_LIST:
        typer.echo(taken_over(home))
    else:
        here.set_peer(BY_LIST)
        typer.echo("the device uses these daemons from its next start on")


@app.command("list", epilog="Example: hocket members list")
def list_members(home: Folder = None) -> None:
    """Show the list that this machine keeps."""
    from hocket_daemon.roles.membership import read

    folder = _folder(home)
    found = read(folder)
    if found is None:
        raise BadConfiguration(f"no list of cloud daemons in {folder}", "install one: hocket members take FILE")
    _show(found)


def _show(found: MemberList) -> None:
    from rich.table import Table
    from rich.text import Text

    from hocket_bus.trust.keys import fingerprint
    from hocket_tools import console

    table = Table("name", "reached at", "fingerprint", "model", "capacity")
    for name, member in sorted(found.members.items()):
        told = (name, member.endpoint, fingerprint(member.key), member.model, str(member.capacity))
        table.add_row(*(Text(console.one_line(each)) for each in told))
    typer.echo(f"version {found.version} of the owner {fingerprint(found.owner)}")
    console.out().print(table)


def _folder(home: Path | None) -> Path:
    from hocket_tools.pair.home import Home

    return Home.find(home).at / "keys"
