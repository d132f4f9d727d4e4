"""`hocket init` and `hocket pair`: one side of a pair on this machine, the other on another one."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hocket_bus.errors import BadConfiguration
from hocket_tools.pair.hints import home_flag

if TYPE_CHECKING:
    from hocket_bus.messages import Right
    from hocket_bus.trust.keys import Peer
    from hocket_tools.pair.code import Code
    from hocket_tools.pair.home import Home, SideName

Folder = Annotated[Path | None, typer.Option("--home", metavar="PATH", help="The pair's folder.", envvar="HOCKET_HOME")]
INIT_EXAMPLE = """Examples:

hocket init device

hocket init cloud --at tcp://192.0.2.7:7100

hocket init cloud --at tcp://gpu.example.com:41234 --listen tcp://10.0.0.5:7100"""
PAIR_EXAMPLE = """Examples:

hocket pair

hocket pair hocket1-…"""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("init", epilog=INIT_EXAMPLE)(init)
    app.command("pair", epilog=PAIR_EXAMPLE)(pair)


def init(
    side: Annotated[Literal["device", "cloud"], typer.Argument(help="Which side of a pair this machine is.")],
    at: Annotated[
        str, typer.Option(metavar="ENDPOINT", help="For a cloud: address at which laptops reach this machine.")
    ] = "",
    listen: Annotated[
        str,
        typer.Option(
            metavar="ENDPOINT",
            help="Address to listen at, if it differs from --at: behind NAT, in a container (docs/servers.md).",
        ),
    ] = "",
    name: Annotated[str, typer.Option(help="Name of this machine; default: its host name and the side.")] = "",
    home: Folder = None,
) -> None:
    """Set up this machine as one side of a pair: write two configuration files and a key; nothing is started.

    Existing files are not changed.
    """
    from hocket_bus.endpoints import from_here
    from hocket_bus.errors import BadRequest
    from hocket_bus.sockets import new_key_pair
    from hocket_bus.trust import keys
    from hocket_tools.pair.home import Home

    listening = _listening(side, at, listen)
    here = Home.find(home)
    if at and here.config("cloud").exists() and here.advertised() != at:
        text = f"{here.config('cloud')} already exists, with the address {here.advertised()}"
        raise BadRequest(text, "set its endpoint and advertise there, or remove the file")
    machine = re.sub("[^A-Za-z0-9.-]", "-", platform.node().split(".")[0]).strip("-.") or "machine"
    here.prepare_side(side, name or f"{machine}-{side}", listening, {} if at == listening else {"advertise": at})
    if not keys.exist(here.at / "keys"):
        own = new_key_pair()
        keys.write_own(here.at / "keys", own)
        if at:
            keys.write_peers(here.at / "keys", _own(own.public, from_here(listening)))
    typer.echo(f"this machine is a {side}; configuration, keys and logs: {here.at}")
    if listening != at:
        typer.echo(f"it listens at {listening}: forward the ports of {at} to it (docs/servers.md)")
    _introduce(here, side, home)
    for line in _models():
        typer.echo(line)
    typer.echo(f"then start it: hocket up{home_flag(home)}")


def _models() -> Iterator[str]:
    """Yield lines about the model that answers here, and a better one if none was got yet."""
    from hocket_daemon.engine.backends.automatic import resolved
    from hocket_daemon.engine.backends.format_choice import has_gpu
    from hocket_daemon.engine.settings import AUTO, BUNDLED
    from hocket_tools.models.listed import proposed

    name = resolved(AUTO)
    yield f"model: auto, which is {name} here; all of them: hocket model list"
    if name == BUNDLED:
        better = proposed(gpu=has_gpu())
        yield f"one that answers much better here, {better['bytes'] / 1e9:.1f} GB: hocket model get {better['name']}"
    yield "two models of one family answer faster together than others"


def _listening(side: str, at: str, listen: str) -> str:
    """Return the endpoint where a cloud listens; empty for a device. Raises BadParameter for options that do not fit.

    It is `listen` where that is given, else `at` if this machine has the address, else the port of `at` on any address.
    """
    from hocket_bus.endpoints import ANY, check_endpoint, check_listening, has_address, is_tcp

    if (side == "cloud") != bool(at):
        missing = "give the address at which laptops reach this machine, for example tcp://192.0.2.7:7100"
        raise typer.BadParameter(missing if side == "cloud" else "nothing connects to a device", param_hint="--at")
    if not at:
        if listen:
            raise typer.BadParameter("nothing connects to a device", param_hint="--listen")
        return ""
    for option, endpoint in (("--at", at), ("--listen", listen)):
        if endpoint and not is_tcp(endpoint):
            raise typer.BadParameter("give a tcp endpoint: ipc works within one machine only", param_hint=option)
    check_endpoint(at)
    if listen:
        check_listening(listen)
    return listen or (at if has_address(at) else f"tcp://{ANY}:{at.rpartition(':')[2]}")


def pair(
    code: Annotated[
        str, typer.Argument(metavar="CODE", help="The other machine's code; without it, this one's is shown.")
    ] = "",
    name: Annotated[str, typer.Option(help="Name for the other machine here; default: its own.")] = "",
    side: Annotated[
        Literal["device", "cloud"] | None, typer.Option(help="Which side this machine is, if it has files of both.")
    ] = None,
    home: Folder = None,
) -> None:
    """Show this machine's pairing code, or enter the other machine's; do this once on each side.

    A code holds a name, a public key and an address; none of it is secret. Someone who alters it in transit could
    impersonate that machine: compare fingerprints over another channel, such as the telephone.
    """
    from hocket_tools.commands.trust.keys import taken_over
    from hocket_tools.pair.code import Code
    from hocket_tools.pair.home import Home
    from hocket_tools.pair.processes import running

    here = Home.find(home)
    own = side or here.side()
    if not code:
        _introduce(here, own, home)
        return
    other = Code.read(code)
    _take(here, own, other, name or other.name)
    if own == "cloud":
        typer.echo(taken_over(home))
    elif running(here, "device") is not None:
        flag = home_flag(home)
        typer.echo(f"to apply it to the running device daemon: hocket down{flag}; hocket up{flag}")
    else:
        typer.echo("to apply it to a device that runs as a service: systemctl restart hocket-device")


def _introduce(here: Home, side: SideName, home: Path | None) -> None:
    from hocket_bus.trust.keys import Keys, fingerprint
    from hocket_tools.pair.code import Code

    own = Keys(here.at / "keys").own.public
    endpoint = _reached(here) if side == "cloud" else ""
    word = Code(here.name(side), own, endpoint).written()
    reached = f", reached at {endpoint}" if endpoint else ""
    typer.echo(f"{here.name(side)}{reached}, fingerprint {fingerprint(own)}")
    typer.echo(f"on the {'device' if side == 'cloud' else 'cloud'}:  hocket pair {word}")
    typer.echo(f"here:  hocket pair{home_flag(home)} CODE, with the code that it shows")


def _reached(here: Home) -> str:
    """Return the address for a cloud's pairing code. Raises BadConfiguration where the configured one is no address."""
    from hocket_bus.endpoints import check_endpoint

    endpoint = here.advertised()
    try:
        check_endpoint(endpoint)
    except BadConfiguration as error:
        text = f"{here.config('cloud')} does not say where other machines reach this one"
        raise BadConfiguration(text, 'add a line: advertise = "tcp://192.0.2.7:7100"') from error
    return endpoint


def _take(here: Home, side: SideName, other: Code, name: str) -> None:
    """Trust the other machine with the rights of its side, and nothing more. Raises BadRequest."""
    from hocket_bus.errors import BadRequest
    from hocket_bus.trust.keys import Keys, changing_peers, fingerprint
    from hocket_bus.visible import visible_line

    if bool(other.endpoint) == (side == "cloud"):
        raise BadRequest(f"this machine is a {side}, and so is {other.name}", "pair a device with a cloud")
    if other.key == Keys(here.at / "keys").own.public:
        raise BadRequest("this is the code of this machine", "use it on the other one")
    with changing_peers(here.at / "keys"):
        _add(here, side, other, name)
    typer.echo(
        f"{visible_line(name)}, fingerprint {fingerprint(other.key)}: compare it with the one that machine shows"
    )
    if side == "device":
        here.set_peer(other.endpoint)
        typer.echo(f"this machine connects to it at {visible_line(other.endpoint)}; it has no rights here")
    else:
        typer.echo("it may only run sessions for its own questions here")


def _add(here: Home, side: SideName, other: Code, name: str) -> None:
    """Add the other machine to the peers that are known here. Raises BadRequest."""
    from hocket_bus.errors import BadRequest
    from hocket_bus.trust.keys import Keys, Peer, fingerprint, write_peers

    known = Keys(here.at / "keys")
    if name in known.peers and known.peers[name].key != other.key:
        text = f"{name} already names another machine here, {fingerprint(known.peers[name].key)}"
        raise BadRequest(text, f"choose one with --name, or first: hocket keys revoke {name}")
    right: Right = "dial" if other.endpoint else "pair"
    peers = known.peers | {name: Peer(other.key, other.endpoint, frozenset({right}))}
    if side == "cloud":
        peers = _own(known.own.public, here.listening("cloud")) | peers
    write_peers(known.folder, peers)


def _own(key: str, endpoint: str) -> dict[str, Peer]:
    """Return this machine as a peer of itself: its status and top may ask its daemon, which listens on tcp alone."""
    from hocket_bus.trust.keys import Peer

    return {"self": Peer(key, endpoint, frozenset({"dial", "watch", "drain"}))}
