"""States of this machine's daemons, whoever started them, by the configuration files of a home and of the services."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from hocket_tools.pair.hints import shortened
from hocket_tools.pair.home import GATEWAY, NAMES, Home, side_of
from hocket_tools.pair.state import CUT, NO_CLOUD, NOT_RUNNING, UNCONNECTED, DaemonState, daemon_state

SERVICES = Path("/etc/hocket")
LITTLE_BYTES = 100_000_000  # that a disk has left where little more can be written down


def places(folder: Path | None) -> list[Home]:
    """Return the home that is named; where none is, this user's and that of the system's services."""
    named = folder is not None or os.environ.get("HOCKET_HOME")
    return [Home.find(folder)] if named else [Home.find(), Home(SERVICES)]


def look(homes: Sequence[Home], names: Sequence[str] = NAMES, connect_s: float = 2.0) -> list[DaemonState]:
    """Return the state of each daemon configured in one of `homes`; of two with one name, the one that answers.

    Sides that another machine has are left out. Raises BadConfiguration.
    """
    found: dict[str, DaemonState] = {}
    for home in homes:
        for state in _of_this_machine(home, _states(home, connect_s)):
            if state.name in names and not (state.name in found and found[state.name].answering):
                found[state.name] = state
    listed = [found[name] for name in NAMES if name in found]
    return listed or [DaemonState(name, None, problem=NOT_RUNNING) for name in NAMES if name in names]


def looked_at(homes: Sequence[Home]) -> str:
    """The configuration files by which daemons are looked for, in words."""
    lists = [(home, [f"{name}.toml" for name in (*NAMES, GATEWAY) if home.config(name).exists()]) for home in homes]
    return "; ".join(f"{shortened(home.at)}: {', '.join(files) or 'no configuration file'}" for home, files in lists)


@dataclass(frozen=True, slots=True)
class Health:
    """The joint state of the daemons: whether all is well, and a line that describes it."""

    well: bool
    line: str


_ALONE = {  # by how the device daemon tells of its cloud
    NO_CLOUD: "; this device has no cloud and answers alone: hocket pair",
    CUT: "; this device is cut off from its cloud and answers alone: hocket alone off",
}


def health(states: Sequence[DaemonState], folders: Iterable[Path] = ()) -> Health:
    """Return the joint state of the daemons, which write to `folders`; what must be mended first is said first."""
    silent = [state for state in states if not state.answering]
    if len(silent) == len(states) and all(state.pid is None for state in states):
        return Health(False, "nothing runs: hocket up")
    if silent:
        return Health(False, f"not well: {'; '.join(f'{state.name}: {state.problem}' for state in silent)}")
    if waiting := [state.name for state in states if not state.ready]:
        return Health(False, f"not ready yet: {', '.join(waiting)}")
    if full := next(filter(None, map(_full, folders)), ""):
        return Health(False, full)
    clouds = [state.facts.get("cloud", "") for state in states]
    if lost := next((cloud for cloud in clouds if cloud.startswith(UNCONNECTED)), ""):
        return Health(False, f"this device answers alone: its cloud is {lost}")
    alone = next((line for start, line in _ALONE.items() if any(cloud.startswith(start) for cloud in clouds)), "")
    return Health(True, f"all is well{alone or ': ' + ', '.join(state.name for state in states)}")


def folders_of(homes: Sequence[Home], states: Sequence[DaemonState]) -> list[Path]:
    """Return the folders that the daemons write to, as far as they are known and there."""
    told = [Path(state.facts["state"]) for state in states if state.facts.get("state")]
    return [folder for folder in dict.fromkeys([*(home.at for home in homes), *told]) if folder.is_dir()]


def _full(folder: Path) -> str:
    """Return a line about a folder whose disk has next to nothing left; empty where it has enough."""
    free = shutil.disk_usage(folder).free
    if free >= LITTLE_BYTES:
        return ""
    text = f"the disk of {shortened(folder)} is full ({free // 1_000_000} MB left)"
    return f"{text}: documents, records and accounts cannot be written; free some space"


def _states(home: Home, connect_s: float) -> list[DaemonState]:
    """Return the states of a home's daemons, asked for at once, since each silent one takes its full time."""
    names = [name for name in NAMES if home.config(name).exists()]
    with ThreadPoolExecutor(len(NAMES)) as threads:
        return list(threads.map(lambda name: daemon_state(home, name, connect_s), names))


def _of_this_machine(home: Home, states: list[DaemonState]) -> list[DaemonState]:
    """Leave out a side that is silent, where the two sides of the home are no pair and the other side answers."""
    awake_clock = {side_of(state.name) for state in states if state.answering or state.pid is not None}
    if not awake_clock or home.is_pair:
        return states
    return [state for state in states if side_of(state.name) in awake_clock]
