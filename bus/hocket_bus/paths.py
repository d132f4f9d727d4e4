"""Where a pair on this machine keeps its things, so that every program finds it without being told."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import BadConfiguration


def home() -> Path:
    """$HOCKET_HOME, else hocket's folder in the XDG state directory."""
    return Path(os.environ.get("HOCKET_HOME") or _state())


def models() -> Path:
    """$HOCKET_MODELS, else the folder of this user's models, which all pairs of the user share."""
    return Path(os.environ.get("HOCKET_MODELS") or _state() / "models")


def expanded(path: Path) -> Path:
    """With `~` replaced by a home folder; as it stands where that is a file's name, or no user's."""
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
    """The local endpoint of a daemon: device, cloud, device-retrieval or cloud-retrieval."""
    return f"ipc://{(at or home()) / 'run' / name}"


def keys(at: Path | None = None) -> Path:
    """The folder of this machine's keys."""
    return (at or home()) / "keys"


def default_endpoint() -> str:
    """Where a client finds the device daemon: $HOCKET_ENDPOINT, else the one of this machine's pair."""
    return named_endpoint() or endpoint("device")


def named_endpoint() -> str:
    """$HOCKET_ENDPOINT; empty where it is not set."""
    return os.environ.get("HOCKET_ENDPOINT", "")
