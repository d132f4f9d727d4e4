"""`hocket link`: the link emulator in the foreground."""

from __future__ import annotations

import errno
import signal
import time
from contextlib import ExitStack
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from hocket_lab.link import Conditions, Link

ENDS = (signal.SIGINT, signal.SIGTERM)
MAX_PORT = 65_535
LONGEST_S = 10 * 365 * 86_400.0
REMEDIES = {errno.EADDRINUSE: "choose a free port", errno.EACCES: "choose a port from 1024 on"}
EXAMPLE = """Examples:

hocket link --listen 127.0.0.1:7200 --target 127.0.0.1:7100 --rtt 150 --jitter 10

hocket link --listen 127.0.0.1:7200 --target cloud.example:7100 --trace train.txt --down 30:5 --cut"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("link", epilog=EXAMPLE)(link)


def link(
    *,
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where to listen.")],
    target: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where to relay to.")],
    ports: Annotated[int, typer.Option(min=1, max=64, help="Relay so many neighbouring ports: 2 for a daemon.")] = 1,
    rtt: Annotated[float, typer.Option(min=0, help="Round trip added, ms; half of it each way.")] = 0.0,
    jitter: Annotated[float, typer.Option(min=0, help="Jitter of each direction, ms.")] = 0.0,
    law: Annotated[
        Literal["normal", "uniform"],
        typer.Option(help="normal: jitter is a standard deviation; uniform: a half width."),
    ] = "normal",
    bandwidth: Annotated[float, typer.Option(min=0, help="Mbit/s each way; 0: no limit.")] = 0.0,
    stall_every: Annotated[float, typer.Option(min=0, help="Mean seconds between stalls; 0: none.")] = 0.0,
    stall: Annotated[float, typer.Option(min=0, help="Length of a stall, s.")] = 0.0,
    trace: Annotated[FilePath | None, typer.Option(help="File of round trips in ms, one per line; repeats.")] = None,
    period: Annotated[float, typer.Option(min=0.001, help="Seconds that each value of the trace holds.")] = 0.1,
    down: Annotated[
        list[str] | None, typer.Option(metavar="AT:FOR", help="Link down at AT seconds for FOR seconds; repeatable.")
    ] = None,
    cut: Annotated[bool, typer.Option("--cut", help="Going down also closes the open connections.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of jitter and stalls.")] = 0,
) -> None:
    """Make a TCP connection as slow and unreliable as a real one.

    Stands between two ends: connect to --listen instead of --target. Needs no root, carries encrypted traffic
    unchanged, adds less than 1 ms of its own in the median. Runs until Ctrl-C.
    """
    from hocket_lab.link import Conditions, Path, TraceError, read_trace

    outages = [_outage(text) for text in down or []]
    if cut and not outages:
        raise typer.BadParameter("nothing goes down; say when with --down AT:FOR", param_hint="--cut")
    try:
        path = Path(
            delay_s=rtt / 2e3,
            jitter_s=jitter / 1e3,
            jitter=law,
            bandwidth_bytes_per_s=bandwidth * 1e6 / 8,
            trace_s=read_trace(trace) if trace else (),
            trace_period_s=period,
        )
        weather = Conditions(path, path, stall_every, stall, seed)
    except (TraceError, ValueError) as error:
        raise typer.BadParameter(str(error)) from error
    except OSError as error:
        raise typer.BadParameter(f"cannot read {trace}: {error.strerror}", param_hint="--trace") from error
    _run(listen, target, ports, weather=weather, outages=outages, cut=cut)


def _outage(text: str) -> tuple[float, float]:
    at, _, length = text.partition(":")
    try:
        outage = float(at), float(length)
    except ValueError:
        outage = -1.0, -1.0
    if not all(0 <= value <= LONGEST_S for value in outage):
        raise typer.BadParameter(f'"{text}" is not AT:FOR, for example 30:5', param_hint="--down")
    return outage


def _run(
    listen: str, target: str, ports: int, *, weather: Conditions, outages: list[tuple[float, float]], cut: bool
) -> None:
    with ExitStack() as stack:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)  # also in the link's threads: the waits take them
        stack.callback(signal.pthread_sigmask, signal.SIG_SETMASK, before)
        links = [stack.enter_context(one) for one in _links(listen, target, ports, weather)]
        typer.echo(f"link: {listen} -> {target}; Ctrl-C ends it")
        began_s = time.monotonic()
        for at_s, down in _changes(outages):
            if signal.sigtimedwait(ENDS, max(0.0, began_s + at_s - time.monotonic())):
                break
            _change(links, down, cut)
        else:
            signal.sigwait(ENDS)
        forward, backward = (sum(link.passed_bytes[way] for link in links) for way in (0, 1))
    typer.echo(f"link: closed after {forward} bytes forward, {backward} bytes backward")


def _links(listen: str, target: str, ports: int, weather: Conditions) -> list[Link]:
    from hocket_bus.errors import BadConfiguration
    from hocket_lab.link import start

    ends = zip(_neighbours(listen, ports, "--listen"), _neighbours(target, ports, "--target"), strict=True)
    try:
        return [start(near, remote, weather) for near, remote in ends]
    except OSError as error:
        remedy = REMEDIES.get(error.errno or 0, "name an address of this machine")
        raise BadConfiguration(f"cannot listen at {listen}: {error.strerror}", remedy) from error


def _neighbours(first: str, ports: int, option: str) -> list[str]:
    """Return the addresses of so many ports from `first` on. Raises BadParameter."""
    from hocket_lab.link import parse_address

    try:
        host, port = parse_address(first)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error
    if port + ports - 1 > MAX_PORT:
        raise typer.BadParameter(f"{first} has fewer than {ports} ports from there on", param_hint=option)
    return [f"{host}:{port + n}" for n in range(ports)]


def _changes(outages: list[tuple[float, float]]) -> list[tuple[float, bool]]:
    """Return pairs (seconds from the start, whether the link goes down), in order."""
    return sorted(change for at, length in outages for change in ((at, True), (at + length, False)))


def _change(links: list[Link], down: bool, cut: bool) -> None:
    for link in links:
        if down:
            link.partition(cut=cut)
        else:
            link.heal()
    typer.echo("link: down" if down else "link: up")
