"""`hocket profile`: how far the other side is, how much the link carries, how long a decode step takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hocket_tools.interrupted import leaving

if TYPE_CHECKING:
    from hocket_daemon.profiling.profiles import DecodeProfile, NetworkProfile
    from hocket_tools.network.survey import Survey, Target
    from hocket_tools.pair.home import Home

UNAVAILABLE = 69
EXAMPLE = """Examples:

hocket profile

hocket profile cloud.example:7100 --json

hocket profile --offline --side device"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("profile", epilog=EXAMPLE)(profile)


def profile(
    *,
    host: Annotated[str, typer.Argument(metavar="HOST[:PORT]", help="Default: the cloud in device.toml.")] = "",
    offline: Annotated[bool, typer.Option("--offline", help="Also time decode steps, up to the full context.")] = False,
    side: Annotated[Literal["device", "cloud"], typer.Option(help="Side whose model --offline measures.")] = "device",
    documents: Annotated[int, typer.Option(min=1, max=64, help="Passages decoded together.")] = 2,
    runs: Annotated[int, typer.Option(min=1, help="Number of repetitions; the times are averaged.")] = 3,
    iperf_port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port at which iperf3 -s listens on the host.")
    ] = 5201,
    seconds: Annotated[int, typer.Option(min=1, max=60, help="How many seconds iperf3 fills the link, each way.")] = 2,
    home: Annotated[
        Path | None, typer.Option("--home", metavar="PATH", help="The pair's folder.", envvar="HOCKET_HOME")
    ] = None,
    json_object: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure the link to the other side: echo on the bus, ping (ICMP) and iperf3 (TCP bandwidth).

    With --offline, also fit this machine's decode times. The daemons use the results within seconds. What cannot be
    measured is listed with a remedy. Exit status 69 if nothing could be measured.
    """
    from hocket_bus import paths
    from hocket_tools.console import print_json
    from hocket_tools.network.survey import Problem, Survey
    from hocket_tools.pair.home import Home

    pair = Home.find(home)
    if offline:
        pair.require(side)
    found = Survey()
    target = _target(pair, host)
    if target is not None:
        with leaving("stopped: nothing new is saved, earlier measurements stay"):
            found = _survey(target, iperf_port, seconds, paths.keys(pair.at))
    elif not offline:
        device = pair.config("device")
        text = f"no cloud is configured in {device}" if device.exists() else f"no pair in {pair.at}"
        found.problems.append(Problem("peer", text, "run: hocket profile HOST"))
    kept = _keep(pair, target, found) if target is not None else None
    with leaving("stopped: the link's figures are saved, decode times are not; hocket profile --offline starts again"):
        fitted = _decode(pair, side, documents, runs) if offline else None
    if json_object:
        print_json(_record(kept, found, fitted))
    else:
        _show(kept, found, fitted)
    if not found.figures and fitted is None:
        raise typer.Exit(UNAVAILABLE)


def _target(pair: Home, host: str) -> Target | None:
    from hocket_tools.network.survey import Target

    endpoint = host or pair.peer()
    return Target.parse(endpoint) if endpoint else None


def _survey(target: Target, iperf_port: int, seconds: int, keys: Path) -> Survey:
    from hocket_tools import console
    from hocket_tools.network.survey import survey

    err = console.err()
    if not err.is_terminal:
        return survey(target, iperf_port, seconds, lambda _: None, keys)
    with err.status("measuring") as line:
        return survey(target, iperf_port, seconds, lambda what: line.update(f"measuring: {what}"), keys)


def _keep(pair: Home, target: Target, found: Survey) -> NetworkProfile:
    from hocket_daemon.profiling import profiles

    file = profiles.network_file(target.host, pair.at)
    known = profiles.load(file, profiles.NetworkProfile) or profiles.NetworkProfile(host=target.host)
    kept = known.with_new(found.figures)
    if found.figures:
        profiles.save(file, kept)
    return kept


def _decode(pair: Home, side: Literal["device", "cloud"], documents: int, runs: int) -> DecodeProfile:
    from hocket_daemon.profiling.offline import Stage
    from hocket_tools.decode_stage import measure_decode

    return measure_decode(pair, side, Stage(rows=documents, runs=runs))


def _record(kept: NetworkProfile | None, found: Survey, fitted: DecodeProfile | None) -> dict[str, object]:
    return {
        "host": kept.host if kept is not None else None,
        "figures": kept.figures if kept is not None else [],
        "problems": found.problems,
        "notes": found.notes,
        "decode": fitted,
    }


def _show(kept: NetworkProfile | None, found: Survey, fitted: DecodeProfile | None) -> None:
    from rich.table import Table

    from hocket_daemon.profiling.profiles import in_words
    from hocket_tools import console

    table = Table("figure", "now", "average", "source", "date", box=None, pad_edge=False)
    for one in kept.figures if kept is not None else []:
        table.add_row(one.name, in_words(one.name, one.now), in_words(one.name, one.average), one.source, one.date)
    for rows, model in fitted.fits.items() if fitted is not None else ():
        line = f"{model.at(0) * 1000:.2f} ms + {model.k_a / model.k_b * 1e6:.2f} µs per token of context"
        table.add_row(f"decode step, {rows} passage(s)", line, "-", "offline stage", fitted.date if fitted else "")
    if fitted is not None and fitted.prefill is not None:
        line = f"{fitted.prefill.c * 1000:.2f} ms + {fitted.prefill.k * 1000:.3f} ms per prompt token"
        table.add_row("first token", line, "-", "offline stage", fitted.date)
    if fitted is not None and fitted.energy is not None:
        line = f"{fitted.energy.prefill_j:.4f} J a token read, {fitted.energy.decode_j:.4f} J a token written"
        table.add_row("energy", line, "-", "offline stage", fitted.date)
    if table.row_count:
        console.out().print(table)
    for note in found.notes:
        console.err().print(f"note: {note}", markup=False)
    for problem in found.problems:
        line = f"not measured by {problem.source}: {problem.text}: {problem.remedy}"
        console.err().print(console.printable(line), style="yellow", markup=False)
