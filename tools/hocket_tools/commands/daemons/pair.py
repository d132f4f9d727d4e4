"""`hocket up`, `down`, `status` and `reload`: the daemons of a pair on this machine."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hocket_tools.interrupted import leaving
from hocket_tools.pair.hints import home_flag, shortened

if TYPE_CHECKING:
    from hocket_tools.pair.home import Home
    from hocket_tools.pair.state import DaemonState

Folder = Annotated[Path | None, typer.Option("--home", metavar="PATH", help="The pair's folder.", envvar="HOCKET_HOME")]
UNAVAILABLE = 69
START_S = 900.0  # a cold disk or a busy host can take minutes; a daemon that dies is noticed at once
StartWait = Annotated[float, typer.Option(min=1, help="Seconds to wait until every daemon answers.")]
DRAINED_S = 10.0  # beyond its time, for the last words of a daemon that ends
PAGE, OPENAI = "page", "OpenAI's API"  # the facts of the gateway that say where it is


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("up", epilog="Example: hocket up --home ~/pair")(up)
    app.command("down", epilog="Example: hocket down --home ~/pair")(down)
    app.command("drain", epilog="Example: hocket drain --within 300")(drain)
    app.command("status", epilog="Example: hocket status --json")(status)
    app.command("reload", epilog="Example: hocket reload")(reload)


def up(
    home: Folder = None,
    wait: StartWait = START_S,
    devices: Annotated[
        int | None,
        typer.Option(
            min=1, max=16, metavar="N", help="Start a cloud and N devices that ask each other (docs/graph.md)."
        ),
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Write serve.toml, so that the HTTP gateway starts, too (docs/serve.md).")
    ] = False,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port of the gateway, as serve.toml is written with it.")
    ] = None,
) -> None:
    """Start a pair on this machine: device, cloud and a retrieval daemon for each.

    The first call writes four configuration files with every key explained; after `hocket init` only that side is
    started. The daemons keep running when the terminal closes; `hocket down` stops them. Ctrl-C or SIGTERM before all
    of them answer stops what was started.
    """
    from hocket_tools import console
    from hocket_tools.pair import trial
    from hocket_tools.pair.front import bring_up_gateway, configure
    from hocket_tools.pair.home import NAMES, Home
    from hocket_tools.pair.processes import leaving_at, running

    if port is not None and not serve:
        raise typer.BadParameter("is the gateway's: add --serve", param_hint="--port")
    pair = Home.find(home)
    if devices is not None:
        trial.prepare(pair, devices)
    if trial.is_trial(pair):
        _up_all(pair, wait, serve=serve)
        return
    already = all(running(pair, name) is not None for name in pair.names)
    with leaving(f"stopped what was started; hocket up{home_flag(home)} starts again"), leaving_at(signal.SIGTERM):
        states = start(pair, wait)
        if serve:
            configure(pair, port)
        gateway = bring_up_gateway(pair, wait)
    what = "the pair" if len(pair.names) == len(NAMES) else f"this side ({', '.join(pair.names)})"
    how = f"{what} is running{' already' if already else ''}; configuration and logs: {shortened(pair.at)}"
    flag = home_flag(home)
    for line in [how, *pair.strays(), *_facts(states, flag), *_model(pair), *_next(pair, flag), *_addresses(gateway)]:
        console.out().print(line, markup=False)


def _addresses(gateway: DaemonState | None) -> Iterator[str]:
    """Yield the addresses of the gateway, if there is one."""
    if gateway is not None:
        yield f"browsers:   {gateway.facts[PAGE]}"
        yield f"programs:   {gateway.facts[OPENAI]} as OpenAI's API; more: docs/serve.md"


def _facts(states: list[DaemonState], flag: str) -> Iterator[str]:
    """Yield a line for each fact from the daemons that whoever starts them should know."""
    from hocket_tools.pair.state import CUT, NO_CLOUD
    from hocket_tools.pair.summary import LEAVES

    for state in states:
        cloud = state.facts.get("cloud", "")
        if cloud == NO_CLOUD:
            yield f"no cloud:   this device answers alone until it is paired: hocket pair{flag}"
        elif not state.settled or cloud.startswith(CUT):
            yield f"cloud:      {cloud}"
        if LEAVES in state.facts:
            yield f"{LEAVES}: {state.facts[LEAVES]}; see: hocket audit{flag}"


def _next(pair: Home, flag: str) -> Iterator[str]:
    """Yield the commands that can be run next with the sides that are here."""
    sides = [side for side in ("device", "cloud") if side in pair.names]
    other = "     (or --side cloud)" if len(sides) > 1 else ""
    yield f"documents:  hocket ingest{flag} --side {sides[0]} PATH…{other}"
    if "device" in sides:
        yield f'questions:  hocket ask{flag} "…"'
    else:
        yield f"questions:  hocket ask on a device that is paired with this cloud; its code: hocket pair{flag}"
    yield f"to stop:    hocket down{flag}"


def _up_all(home: Home, wait: float, *, serve: bool) -> None:
    """Start a trial's cloud and the devices below it. Raises BadRequest with `serve`."""
    from hocket_bus.errors import BadRequest
    from hocket_tools import console
    from hocket_tools.pair import trial
    from hocket_tools.pair.processes import leaving_at

    out, there = console.out(), trial.devices(home)
    if serve:
        raise BadRequest(
            "a trial of several devices has no gateway", f"serve one: hocket serve{home_flag(there[0].at)}"
        )
    goes_on = f"daemons that were ready keep running, the others are stopped; hocket down{home_flag(home.at)} stops all"
    with leaving(goes_on), leaving_at(signal.SIGTERM):
        start(home, wait)
        for device in there:
            start(device, wait, joined=True)
    out.print(f"a cloud and {len(there)} devices are running; configuration, keys and logs: {home.at}", markup=False)
    out.print(
        "in this trial the devices share summaries, passages and drafts with each other (see their [egress])",
        markup=False,
    )
    first, last = home_flag(there[0].at), home_flag(there[-1].at)
    out.print(f"documents:  hocket ingest{last} --side device PATH…", markup=False)
    out.print(f'questions:  hocket ask{first} --mode auto "…"', markup=False)
    names = ",".join(each.at.name for each in there[1:])
    if names:
        out.print(f'together:   hocket ask{first} --with {names} "…"', markup=False)
    out.print(f"the graph:  hocket graph show{last}", markup=False)
    out.print(f"to stop:    hocket down{home_flag(home.at)}", markup=False)


_STOPPING = "stopping what was started"


def _model(pair: Home) -> list[str]:
    """Return a line with the model that `auto` means here, where a better one can be had."""
    from hocket_bus import config
    from hocket_daemon.config import CloudSettings, DeviceSettings
    from hocket_daemon.engine.backends.automatic import advice, resolved

    names = set()
    if "device" in pair.names:
        names.add(config.load(pair.config("device"), DeviceSettings).model.name)
    if "cloud" in pair.names:
        names.add(config.load(pair.config("cloud"), CloudSettings).model.name)
    return [f"model:      {resolved(name)}; {advice(name)}" for name in names if advice(name)]


def start(pair: Home, wait_s: float, *, joined: bool = False) -> list[DaemonState]:
    """Bring the pair up with a line of progress; print the log of a daemon that dies. `joined`: see `bring_up`."""
    from hocket_tools import console
    from hocket_tools.pair.up import StartFailed, bring_up

    err = console.err()
    try:
        if not err.is_terminal:
            return bring_up(pair, wait_s, lambda _: None, lambda: err.print(_STOPPING), joined=joined)
        with err.status("starting") as line:
            return bring_up(
                pair,
                wait_s,
                lambda states: line.update(_progress(states)),
                lambda: line.update(_STOPPING),
                joined=joined,
            )
    except StartFailed as error:
        for text in error.log_lines:
            err.print(f"  {console.printable(text)}", style="dim", markup=False)
        raise


def down(
    home: Folder = None,
    wait: Annotated[float, typer.Option(min=0.1, help="Seconds that running requests get to finish.")] = 10.0,
) -> None:
    """Stop the pair on this machine; requests that take longer than --wait are ended with a reason.

    Devices of `hocket up --devices` stop with their cloud, or one by one with --home and the device's folder.
    """
    from hocket_tools import console
    from hocket_tools.pair.home import GATEWAY, NAMES, Home
    from hocket_tools.pair.processes import pids, stop
    from hocket_tools.pair.trial import members

    stopped = []
    unfinished = f"some daemons may still be running: hocket down{home_flag(home)} continues"
    for pair in reversed(members(Home.find(home))):  # a cloud goes behind its devices
        alive = [name for name in (*NAMES, GATEWAY) if name in pids(pair)]
        with leaving(unfinished):
            killed = stop(pair, [GATEWAY, *reversed(NAMES)], wait)
        for name in killed:
            console.err().print(f"the {name} daemon did not stop and was killed; its log: {pair.log(name)}")
        stopped += [f"{pair.at.name}'s {name}" if pair.at != Home.find(home).at else name for name in alive]
    console.out().print(f"stopped: {', '.join(stopped)}" if stopped else "nothing was running", markup=False)


def drain(
    within: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Seconds that running requests get to finish or move.")
    ] = 60,
    home: Folder = None,
) -> None:
    """Stop the cloud daemon here once its requests are done; devices that know another one move there, losing no token.

    It accepts no new requests. Those that still run after --within are ended with a reason; devices continue alone.
    """
    import os

    from hocket_bus.messages import Drain, Drained
    from hocket_tools.caller import Caller
    from hocket_tools.pair.home import Home

    here = Home.find(home)
    here.require("cloud")
    with Caller(here.listening("cloud"), keys=here.at / "keys", role="cloud") as caller:
        drained = caller.ask(Drain(request=os.urandom(16), within_s=within), Drained, within + DRAINED_S)
    left = (
        f"{drained.ended} session(s) were in progress and were ended with a reason"
        if drained.ended
        else "nothing was lost"
    )
    typer.echo(f"the cloud daemon has ended; {left}")


def status(
    home: Folder = None,
    every: Annotated[bool, typer.Option("--all", help="Show every fact of each daemon.")] = False,
    json_object: Annotated[bool, typer.Option("--json", help="Print one JSON object, with every fact.")] = False,
) -> None:
    """Show whether all is well: models, documents, the connection, what leaves. Exit status 69 unless all answer.

    Daemons are found by the configuration files of the pair's folder and of the system's services (/etc/hocket).
    """
    from dataclasses import replace

    from hocket_tools import console
    from hocket_tools.pair import front
    from hocket_tools.pair.look import folders_of, health, look, looked_at, places
    from hocket_tools.pair.trial import devices

    homes = places(home)
    below = devices(homes[0])
    states = look(homes)
    for device in below:
        states += [replace(state, name=f"{device.at.name}/{state.name}") for state in look([device])]
    states += front.states(homes)
    how = health(states, folders_of([*homes, *below], states))
    strays = [line for each in (homes[0], *below) for line in each.strays()]
    if json_object:
        record = {"home": homes[0].at, "well": how.well, "summary": how.line, "notes": strays, "daemons": states}
        console.print_json(record)
    else:
        console.out().print(how.line, style="green" if how.well else "yellow", markup=False)
        for line in strays:
            console.out().print(line, markup=False)
        if every:
            _show(states)
        else:
            _summarise(states, home_flag(home))
        console.err().print(f"looked at {looked_at([*homes, *below])}", style="dim", markup=False)
    if not states or not all(state.answering for state in states):
        raise typer.Exit(UNAVAILABLE)


def reload(home: Folder = None) -> None:
    """Make running daemons reload which machines they know and what each may do; running requests are not disturbed.

    `hocket keys` and `hocket pair` do this themselves. For services: systemctl reload 'hocket-*'
    """
    from hocket_bus.errors import Unavailable
    from hocket_tools.pair import processes
    from hocket_tools.pair.home import Home
    from hocket_tools.pair.trial import members

    pair = Home.find(home)
    reloaded = [
        f"{shortened(each.at)}: {', '.join(names)}" for each in members(pair) if (names := processes.reload(each))
    ]
    if not reloaded:
        raise Unavailable(f"no daemon of {shortened(pair.at)} runs", "they read keys when they start: hocket up")
    for line in reloaded:
        typer.echo(f"asked to reload keys: {line}; see the result in their logs")


def _progress(states: list[DaemonState]) -> str:
    waiting = [state.name for state in states if not state.settled]
    return f"starting: waiting for {', '.join(waiting)}" if waiting else "ready"


def _summarise(states: list[DaemonState], flag: str) -> None:
    from hocket_tools import console
    from hocket_tools.pair.summary import summary

    for line in summary(states):
        console.out().print(console.printable(line), markup=False)
    if any(state.answering for state in states):
        console.out().print(f"every fact: hocket status{flag} --all", markup=False)


def _show(states: list[DaemonState]) -> None:
    from rich.table import Table
    from rich.text import Text

    from hocket_tools import console

    table = Table("daemon", "pid", "state", "facts", box=None, pad_edge=False)
    for state in states:
        word = "ready" if state.ready else "not ready" if state.answering else state.problem
        style = "green" if state.ready else "yellow" if state.answering else "red"
        facts = "\n".join(f"{name}: {console.printable(value)}" for name, value in state.facts.items())
        table.add_row(state.name, str(state.pid or "-"), Text(console.printable(word), style), Text(facts))
    console.out().print(table)
