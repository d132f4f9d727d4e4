"""The state of each daemon of a pair, asked for through its real socket."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from hocket_bus import paths
from hocket_bus.endpoints import is_tcp
from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.messages import Status, StatusRequest
from hocket_tools.caller import Caller
from hocket_tools.pair.home import Home
from hocket_tools.pair.processes import last_error, running

NO_CLOUD = "none configured"  # how the device daemon says that it has none
CUT = "cut on this device"  # and that it was cut off from it here
NOT_RUNNING = "not running"
UNCONNECTED = "not connected"  # how the device daemon tells of its cloud; why, in brackets, where the cloud refuses it


@dataclass(frozen=True, slots=True)
class DaemonState:
    """The state of a daemon: its process, whether it answers, and the facts and metrics that it reports."""

    name: str
    pid: int | None
    answering: bool = False
    ready: bool = False
    facts: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    problem: str = ""

    @property
    def settled(self) -> bool:
        """Tell whether the daemon is ready and, where it has another side to reach, connected to it."""
        return self.ready and not self.facts.get("cloud", "").startswith(UNCONNECTED)

    @property
    def refusal(self) -> str:
        """Return why the other side refuses this one, which no waiting mends; empty where it does not."""
        before, found, reason = self.facts.get("cloud", "").partition(f"{UNCONNECTED} (")
        return reason.removesuffix(")") if found and not before else ""


def daemon_state(home: Home, name: str, connect_s: float = 2.0) -> DaemonState:
    """Return the state of one daemon, whoever started it; silence is described in it and raises nothing."""
    pid, endpoint = running(home, name), home.listening(name)
    try:
        there = is_tcp(endpoint) or Path(endpoint.removeprefix("ipc://")).exists()
    except PermissionError:
        return DaemonState(name, pid, problem=f"{endpoint} belongs to others: join the group of its folder")
    if pid is None and not there:
        reason = last_error(home, name)
        return DaemonState(name, None, problem=f"{NOT_RUNNING}: {reason}" if reason else NOT_RUNNING)
    return state_at(endpoint, name, pid, paths.keys(home.at), connect_s)


def check_begun(home: Home, name: str) -> None:
    """Raise Unavailable with a daemon's own reason, where it ended by an error and nobody has started it again."""
    reason = last_error(home, name)
    socket = Path(home.listening(name).removeprefix("ipc://"))
    if reason and running(home, name) is None and not socket.exists():
        raise Unavailable(f"the {name} daemon is not running, it ended with: {reason}", f"its log: {home.log(name)}")


def state_at(endpoint: str, name: str, pid: int | None, keys: Path, connect_s: float = 2.0) -> DaemonState:
    """Return the state of the daemon that listens at `endpoint`, under a name of the caller's."""
    try:
        with Caller(endpoint, connect_s, keys) as caller:
            status = caller.ask(StatusRequest(request=os.urandom(16)), Status, connect_s)
    except HocketError as error:
        return DaemonState(name, pid, problem=error.text)
    return DaemonState(name, pid, True, status.ready, dict(status.facts), dict(status.metrics))
