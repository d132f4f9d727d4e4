"""Measurements of the way to one host: each figure with its source, each failure with its remedy."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from hocket_bus.endpoints import host_of
from hocket_bus.errors import BadRequest, HocketError
from hocket_daemon.profiling.profiles import Figure
from hocket_tools.network import iperf3
from hocket_tools.network.echo import echo
from hocket_tools.network.ping import ping
from hocket_tools.network.program import check_host

_WITH_PORT = re.compile(r"(\[[^]]+\]|[^:]+):\d+")


@dataclass(frozen=True, slots=True)
class Target:
    """A target of measurements: a host, empty for this one, and a daemon's endpoint there, empty when not known."""

    host: str
    endpoint: str = ""

    @classmethod
    def parse(cls, text: str) -> Target:
        """Parse HOST, HOST:PORT, tcp://HOST:PORT or ipc:///PATH. Raises BadRequest."""
        if text.startswith("ipc://"):
            return cls("", text)
        bare = text.removeprefix("tcp://")
        target = cls(host_of(bare), f"tcp://{bare}") if _WITH_PORT.fullmatch(bare) else cls(bare.strip("[]"))
        check_host(target.host)
        if text.startswith("tcp://") and not target.endpoint:
            raise BadRequest(f"'{text}' has no port", f"write {text}:7100, or the host alone")
        return target


@dataclass(frozen=True, slots=True)
class Problem:
    """A figure that could not be measured."""

    source: str
    text: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Survey:
    """The findings of one survey; `notes` say what does not fit together."""

    figures: list[Figure] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def survey(
    target: Target, iperf_port: int, seconds: int, progress: Callable[[str], None], keys: Path | None = None
) -> Survey:
    """Measure what can be measured; `progress` gets a line before each program starts, `keys` is as for a Client."""
    found = Survey()
    if target.endpoint:
        progress("echo on the bus")
        _take(found, "round trip", "echo", lambda: echo(target.endpoint, keys))
    if target.host:
        progress("ping")
        _take(found, "round trip", "ping", lambda: ping(target.host).mean_s)
        _bandwidths(found, target.host, iperf_port, seconds, progress)
    found.notes.extend(_doubts(found.figures))
    return found


def _bandwidths(found: Survey, host: str, port: int, seconds: int, progress: Callable[[str], None]) -> None:
    for name, back in (("bandwidth there", False), ("bandwidth back", True)):
        progress(f"iperf3: {name}")

        def measure(back: bool = back) -> float:
            return iperf3.bandwidth(host, back=back, port=port, seconds=seconds)

        if not _take(found, name, "iperf3", measure):
            return


def _take(found: Survey, name: str, source: str, measure: Callable[[], float]) -> bool:
    try:
        value = measure()
    except HocketError as error:
        found.problems.append(Problem(source, error.text, error.remedy))
        return False
    date = datetime.now(UTC).isoformat(timespec="minutes")
    found.figures.append(Figure(name=name, source=source, now=value, average=value, date=date))
    return True


def _doubts(figures: list[Figure]) -> list[str]:
    trips = {figure.source: figure.now for figure in figures if figure.name == "round trip"}
    if len(trips) < 2 or 0.5 * trips["ping"] - 0.001 <= trips["echo"] <= 2 * trips["ping"] + 0.01:
        return []
    figures_ms = f"{trips['echo'] * 1000:.1f} ms by the echo, {trips['ping'] * 1000:.1f} ms by ping"
    return [f"{figures_ms}: do both take the same route (a tunnel, a busy machine)? the pair uses the echo"]
