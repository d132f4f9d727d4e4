"""Paths of a device-cloud pair's files on this machine, so that every program finds them without configuration."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import BadConfiguration


def home() -> Path:
    """Return $HOCKET_HOME, else hocket's folder in the XDG state directory."""
    return Path(os.environ.get("HOCKET_HOME") or _state())


def models() -> Path:
    """Return $HOCKET_MODELS, else the folder of this user's models, which all pairs of the user share."""
    return Path(os.environ.get("HOCKET_MODELS") or _state() / "models")


def expanded(path: Path) -> Path:
    """Expand `~` to a home folder; unchanged if a file has that name, or if no such user exists."""
    try:
        return path if os.path.lexists(path) else path.expanduser()
    except RuntimeError:
        return path


def _state() -> Path:
    if state := os.environ.get("XDG_STATE_HOME"):
        return Path(state) / "hocket"
    try:
        return Path.home() / ".local" / "state" / "hocket"
    except RuntimeError as error:
        raise BadConfiguration("this user has no home folder", "set HOCKET_HOME and HOCKET_MODELS") from error


def endpoint(name: str, at: Path | None = None) -> str:
    """Return the local endpoint of a daemon: device, cloud, device-retrieval or cloud-retrieval."""
    return f"ipc://{(at or home()) / 'run' / name}"


def keys(at: Path | None = None) -> Path:
    """Return the folder of this machine's keys."""
    return (at or home()) / "keys"


def default_endpoint() -> str:
    """Return where a client finds the device daemon: $HOCKET_ENDPOINT, else the endpoint of this machine's pair."""
    return named_endpoint() or endpoint("device")


def named_endpoint() -> str:
    """Return $HOCKET_ENDPOINT; empty if it is not set."""
    return os.environ.get("HOCKET_ENDPOINT", "")
