"""The daemon that a command means: the one that is named, else the device's of the pair."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hocket_bus import paths
from hocket_bus.endpoints import check_endpoint
from hocket_bus.errors import BadRequest
from hocket_tools.pair.hints import home_flag

from .home import Home
from .state import check_begun
from .trial import devices


def meant(endpoint: str | None, home: Path | None) -> tuple[str, Path]:
    """Return the endpoint of the daemon that is meant, and the folder of the keys for it.

    Raises BadConfiguration, Unavailable where no pair was begun, BadRequest where several devices may be meant.
    """
    where = endpoint or (paths.named_endpoint() if home is None else "")
    if not where:
        pair = Home.find(home)
        if there := devices(pair):
            raise BadRequest(f"{pair.at} has {len(there)} devices", f"name one of them:{home_flag(there[0].at)}")
        where = pair.reached("device")
        check_begun(pair, "device")
    check_endpoint(where)
    return where, paths.keys(home)


def folders_named(within: Sequence[str] | None) -> tuple[str, ...]:
    """Return folders, or documents, by the paths under which a daemon on this machine knows them."""
    return tuple(str(paths.expanded(Path(path)).absolute()) for path in within or () if path)
