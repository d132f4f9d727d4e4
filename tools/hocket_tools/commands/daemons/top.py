"""`hocket top`: live figures of the daemons."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from hocket_tools.pair.pace import Pace
    from hocket_tools.pair.state import DaemonState

SIDES = ("device", "cloud")
UNAVAILABLE = 69


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("top", epilog="Example: hocket top --once")(top)


def top(
    endpoint: Annotated[
        list[str] | None, typer.Option(help="Watch this daemon; repeatable; default $HOCKET_ENDPOINT.")
    ] = None,
    home: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Watch the pair in this folder; default $HOCKET_HOME.")
    ] = None,
    every: Annotated[float, typer.Option(min=0.1, max=3600, help="Seconds between updates.")] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Print one snapshot and exit.")] = False,
    json_lines: Annotated[bool, typer.Option("--json", help="Print one JSON object per update.")] = False,
) -> None:
    """Watch device and cloud: tokens, acceptance, round trip, decode times, queues, errors; Ctrl-C ends it.

    If standard output is not a terminal, it prints one snapshot, as with --once, unless --json is given. After a
    snapshot the exit status is 69 unless all running daemons answered.
    """
    from hocket_bus import paths
    from hocket_tools import console

    named = paths.named_endpoint() if home is None else ""
    looks = _looks(endpoint or ([named] if named else []), home, every)
    try:
        if once or not (json_lines or sys.stdout.isatty()):
            paces = next(looks)
            console.print_json({"daemons": paces}) if json_lines else console.out().print(_table(paces))
            if any(pace.problem for pace in paces):
                raise typer.Exit(UNAVAILABLE)
        elif json_lines:
            for paces in looks:
                console.print_json({"daemons": paces})
        else:
            _live(looks)
    except KeyboardInterrupt:
        return


def _looks(endpoints: list[str], home: Path | None, every_s: float) -> Iterator[list[Pace]]:
    """Yield the paces of all daemons again and again, first after two looks or if none answers. Raises Unavailable."""
    from hocket_tools.pair.pace import Watch

    watches: dict[str, Watch] = {}
    while True:
        paces = [watches.setdefault(state.name, Watch()).add(state) for state in _states(endpoints, home)]
        if any(pace.seconds for pace in paces) or all(pace.problem for pace in paces):
            yield paces
        time.sleep(every_s)


def _states(endpoints: list[str], home: Path | None) -> list[DaemonState]:
    from hocket_bus import paths
    from hocket_bus.endpoints import check_endpoint
    from hocket_bus.errors import Unavailable
    from hocket_tools.pair.look import look, looked_at, places
    from hocket_tools.pair.state import state_at

    for endpoint in endpoints:
        check_endpoint(endpoint)
    if endpoints:
        return [state_at(endpoint, endpoint, None, paths.keys(home)) for endpoint in endpoints]
    homes = places(home)
    states = [state for state in look(homes, SIDES) if state.answering or state.pid is not None]
    if not states:
        raise Unavailable(f"no daemon is running by {looked_at(homes)}", "start the pair: hocket up")
    return states


def _live(looks: Iterator[list[Pace]]) -> None:
    from rich.live import Live

    from hocket_tools import console

    with Live(console=console.out(), auto_refresh=False) as live:
        for paces in looks:
            live.update(_table(paces), refresh=True)


def _table(paces: list[Pace]) -> Table:
    from rich.table import Table

    table = Table("", *(pace.name for pace in paces), box=None, pad_edge=False)
    columns = [_column(pace) for pace in paces]
    for label in columns[0]:
        table.add_row(label, *(column[label] for column in columns))
    return table


def _column(pace: Pace) -> dict[str, str]:
    from hocket_tools import console

    sent = sum(pace.sent_bytes_per_s.values())
    kinds = ", ".join(f"{kind} {size / 1000:.1f}" for kind, size in pace.sent_bytes_per_s.items())
    return {
        "state": console.printable(pace.problem) or ("ready" if pace.ready else "not ready"),
        "model": console.printable(pace.model) or "-",
        "requests": f"{pace.requests} in progress, {pace.waiting} step(s) and event(s) waiting",
        "tokens": f"{pace.tokens_per_s:.1f} a second, {pace.tokens} in all",
        "proposed by": _shares(pace.proposed),
        "accepted": _shares(pace.accepted),
        "members": _members(pace),
        "dispatched": ", ".join(f"{side} {count}" for side, count in pace.written.items()) or "-",
        "spent": "-"
        if pace.spent is None
        else f"{pace.spent:.0%} of all prompt tokens, the budget is {pace.budget:.0%}",
        "rollbacks": f"{pace.rollbacks_per_s:.1f} a second",
        "round trip": _ms(pace.rtt_s),
        "decode step": _ms(pace.decode_s),
        "first token": _ms(pace.first_token_s),
        "sent": f"{sent / 1000:.1f} kB a second ({kinds})" if sent else "-",
        "errors": ", ".join(f"{kind} {count}" for kind, count in pace.errors.items()) or "-",
    }


def _shares(shares: dict[str, float]) -> str:
    return ", ".join(f"{name} {share:.0%}" for name, share in shares.items() if share) or "-"


def _members(pace: Pace) -> str:
    """Return a text on the devices that draft along: each one's round trip, and how often its drafts are the token."""
    from hocket_tools import console

    away = {name: f" {_ms(rtt_s)}," for name, rtt_s in pace.member_rtts_s.items()}
    lines = [f"{name}{away.get(name, '')} {share:.0%} accepted" for name, share in sorted(pace.members.items())]
    return console.printable("; ".join(lines)) or "-"


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1000:.1f} ms"
