"""`hocket keys`: this machine's key, and the machines it knows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hocket_bus.trust.keys import Peer

app = typer.Typer(
    help="Manage this machine's key, and what other machines may do here over tcp.",
    epilog="To pair a laptop with a server: `hocket keys show` on each prints the one command for the other.",
    no_args_is_help=True,
)


def register(hocket: typer.Typer) -> None:
    """Add the commands."""
    hocket.add_typer(app, name="keys")


Home = Annotated[Path | None, typer.Option("--home", metavar="PATH", help="The pair's folder.", envvar="HOCKET_HOME")]
At = Annotated[str, typer.Option(metavar="ENDPOINT", help="Address at which others reach this machine, if any.")]


@app.command(epilog="Example: hocket keys new")
def new(home: Home = None, at: At = "") -> None:
    """Make this machine's key; once is enough."""
    from hocket_bus.sockets import new_key_pair
    from hocket_bus.trust import keys

    _check(at)
    folder = _folder(home)
    keys.write_own(folder, new_key_pair())
    show(home, at)


@app.command(epilog="Example: hocket keys show --at tcp://server:7000")
def show(home: Home = None, at: At = "") -> None:
    """Print this machine's key, its fingerprint, and what to type on the other machine.

    The fingerprint in a group is that of the key with which other devices encrypt what only this one may read.
    """
    import platform

    from hocket_bus.trust import pins
    from hocket_bus.trust.keys import Keys, fingerprint
    from hocket_bus.trust.sealing import SealingKey

    _check(at)
    own = Keys(_folder(home)).own
    name = platform.node().split(".")[0] or "peer"
    where = f" --at {at}" if at else ""
    typer.echo(f"key          {own.public}")
    typer.echo(f"fingerprint  {fingerprint(own.public)}")
    typer.echo(f"in a group   {pins.fingerprint(SealingKey.of_secret(own.secret).public)}")
    typer.echo("On the other machine:")
    typer.echo(f"  hocket keys allow {name} '{own.public}'{where}")


@app.command(epilog="Example: hocket keys allow server 'KEY' --at tcp://server:7000")
def allow(
    name: Annotated[str, typer.Argument(help="Name for that machine here.")],
    key: Annotated[str, typer.Argument(help="Its key, as `hocket keys show` prints it there.")],
    at: Annotated[str, typer.Option(metavar="ENDPOINT", help="Its address, if this machine connects to it.")] = "",
    may: Annotated[
        str, typer.Option(metavar="RIGHT,…", help="What it may do here: pair, ask, documents, watch, drain.")
    ] = "",
    home: Home = None,
) -> None:
    """Set what a machine may do here; earlier rights are replaced.

    With --at, this machine connects to that one and trusts it to be at that address; that one may do nothing here.
    Without --at and --may it may pair: open sessions for its questions, as a laptop does on its server.

    pair: sessions; ask: questions and their answers; documents: ingest, remove, list and read them; watch: status of
    the machine, and of its own requests; drain: stop the daemon, or cut a device off from its cloud.
    """
    from hocket_bus.trust.keys import changing_peers, fingerprint, listed, read_peers, write_peers

    _check(at)
    folder = _folder(home)
    peer = _peer(key, at, may)
    with changing_peers(folder):
        peers = read_peers(folder)
        write_peers(folder, peers | {name: peer})
    if name in peers and peers[name].key != key:
        typer.echo(f"{name} had another key, {fingerprint(peers[name].key)}, which is no longer allowed")
    if name in peers and peers[name].endpoint not in ("", at):
        typer.echo(f"{name} is no longer connected to at {peers[name].endpoint}; to keep that, pass --at")
    typer.echo(f"{name} {fingerprint(key)} is allowed; compare with the fingerprint that it shows")
    here = listed(peer.rights - {"dial"})
    typer.echo(f"it may here: {here or 'nothing; this machine connects to it'}")
    typer.echo(taken_over(home))


@app.command(epilog="Example: hocket keys revoke laptop")
def revoke(name: Annotated[str, typer.Argument(help="Name of that machine here.")], home: Home = None) -> None:
    """Refuse a machine from now on; daemons that run here disconnect it at once."""
    from hocket_bus.errors import BadRequest
    from hocket_bus.trust.keys import changing_peers, read_peers, write_peers

    folder = _folder(home)
    with changing_peers(folder):
        peers = read_peers(folder)
        if name not in peers:
            raise BadRequest(f"no machine is called '{name}' here", "see: hocket keys list")
        write_peers(folder, {other: peer for other, peer in peers.items() if other != name})
    typer.echo(f"{name} is no longer allowed")
    typer.echo(taken_over(home))


@app.command(epilog="Example: hocket keys forget ben")
def forget(
    name: Annotated[str, typer.Argument(help="What that device of the group calls itself.")], home: Home = None
) -> None:
    """Forget the key first seen for a device of the group; its next key is accepted instead.

    First compare fingerprints with its owner: `hocket keys show` there, `hocket keys list` here.
    """
    from hocket_tools.pair.home import Home as Pair

    Pair.find(home).pins().forget(name)
    typer.echo(f"the key of {name} is forgotten; the next one that it shows is pinned")


@app.command(epilog="Example: hocket keys pin ben abcd-efgh-ijkl-mnop-qrst")
def pin(
    name: Annotated[str, typer.Argument(help="What that device of the group calls itself.")],
    fingerprint: Annotated[
        str, typer.Argument(help="The fingerprint that `hocket keys show` prints there after: in a group.")
    ],
    home: Home = None,
) -> None:
    """Confirm the key of a device of the group by the fingerprint that its owner gave you.

    Until then its key is only what the cloud has reported. With drafts_for = \\["*"] it gets drafts from then on.
    """
    from hocket_tools import console
    from hocket_tools.pair.home import Home as Pair

    Pair.find(home).pins().pin(name, fingerprint)
    typer.echo(console.one_line(f"{name} is pinned by hand; another key under its name is refused"))


@app.command("list", epilog="Example: hocket keys list --json")
def list_peers(home: Home = None, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List the machines known here, what each may do, and the devices of the group whose keys are pinned."""
    from hocket_bus.trust.keys import read_peers
    from hocket_tools.console import print_json
    from hocket_tools.pair.home import Home as Pair

    peers = sorted(read_peers(_folder(home)).items())
    pins = Pair.find(home).pins()
    pinned, by_hand = sorted(pins.names().items()), pins.by_hand()
    if as_json:
        print_json(_records(peers, pinned, by_hand))
    else:
        _show_peers(peers)
        if pinned or by_hand:
            _show_pinned(pinned, by_hand)


def _records(
    peers: list[tuple[str, Peer]], pinned: list[tuple[str, bytes]], by_hand: dict[str, str]
) -> list[dict[str, object]]:
    from hocket_bus.trust import pins
    from hocket_bus.trust.keys import fingerprint, listed

    of_peers = [
        {
            "name": name,
            "key": peer.key,
            "fingerprint": fingerprint(peer.key),
            "endpoint": peer.endpoint,
            "may": listed(peer.rights).split(","),
            "pinned": False,
        }
        for name, peer in peers
    ]
    of_group = [
        {
            "name": name,
            "key": public.hex(),
            "fingerprint": pins.fingerprint(public),
            "endpoint": "",
            "may": [],
            "pinned": True,
            "by_hand": name in by_hand,
        }
        for name, public in pinned
    ]
    return [*of_peers, *of_group]


def _show_peers(peers: list[tuple[str, Peer]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from hocket_bus.trust.keys import fingerprint, listed
    from hocket_tools import console

    table = Table("name", "fingerprint", "may", "reached at")
    for name, peer in peers:
        told = (name, fingerprint(peer.key), listed(peer.rights), peer.endpoint or "-")
        table.add_row(*(Text(console.one_line(each)) for each in told))
    console.out().print(table)


def _show_pinned(pinned: list[tuple[str, bytes]], by_hand: dict[str, str]) -> None:
    from rich.table import Table
    from rich.text import Text

    from hocket_bus.trust.pins import fingerprint
    from hocket_tools import console

    table = Table("device of the group", "fingerprint in a group", "pinned")
    seen = {name: fingerprint(public) for name, public in pinned}
    for name, shown in sorted((by_hand | seen).items()):
        table.add_row(Text(console.one_line(name)), shown, "by hand" if name in by_hand else "at first sight")
    console.out().print(table)


def taken_over(home: Path | None) -> str:
    """Let the daemons that run here reload the keys; return a line that names these daemons."""
    from hocket_tools.pair import processes
    from hocket_tools.pair.home import Home as Pair

    reloaded = processes.reload(Pair.find(home))
    if reloaded:
        return f"reloaded by the running daemons: {', '.join(reloaded)}"
    return "no daemon of this folder runs; to reload services: systemctl reload 'hocket-*'"


def _peer(key: str, at: str, may: str) -> Peer:
    """Return a peer with the key, address and rights that the options give. Raises BadRequest."""
    from hocket_bus.errors import BadRequest
    from hocket_bus.trust.keys import Peer, rights

    named = rights(name.strip() for name in may.split(",") if name)
    if at:
        named |= {"dial"}
    elif "dial" in named:
        raise BadRequest("'dial' needs an address", "add --at ENDPOINT, or leave out 'dial'")
    return Peer(key, at, named or Peer(key).rights)


def _check(at: str) -> None:
    """Raise BadConfiguration for an address that is given and malformed."""
    from hocket_bus.endpoints import check_endpoint

    if at:
        check_endpoint(at)


def _folder(home: Path | None) -> Path:
    from hocket_tools.pair.home import Home as Pair

    return Pair.find(home).at / "keys"
