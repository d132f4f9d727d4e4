"""Addresses of daemons: which are well-formed, where their streams are, and who holds a path. Opens no socket."""

from __future__ import annotations

import os
import re
import socket
import stat
from ipaddress import ip_address
from pathlib import Path
from typing import IO

from .errors import BadConfiguration
from .trust.private import lock

ANY = "0.0.0.0"  # all addresses of this machine: a place to listen, and none to connect to
_FROM_HERE = {ANY: "127.0.0.1", "[::]": "[::1]"}  # where this machine reaches what listens everywhere
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9._-]+)?\]")


def publish_endpoint(endpoint: str, port: int = 0) -> str:
    """Where the streams of the server at `endpoint` are published: path + '.pub', or its host at `port`.

    0 is the port after its own.
    """
    if endpoint.startswith("ipc://"):
        return endpoint + ".pub"
    host, _, own = endpoint.rpartition(":")
    return f"{host}:{port or int(own) + 1}"


def from_here(endpoint: str) -> str:
    """Where this machine connects to the server that listens at `endpoint`."""
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    return f"tcp://{_FROM_HERE[host]}:{port}" if is_tcp(endpoint) and host in _FROM_HERE else endpoint


def listens_everywhere(endpoint: str) -> bool:
    """Whether it stands for all addresses of a machine, so that nobody elsewhere can be told it."""
    return from_here(endpoint) != endpoint


def host_of(endpoint: str) -> str:
    """The host of `tcp://HOST:PORT`, an IPv6 one without its brackets; empty for ipc, which stays on this machine."""
    if endpoint.startswith("ipc://"):
        return ""
    return endpoint.removeprefix("tcp://").rpartition(":")[0].strip("[]")


def has_address(endpoint: str) -> bool:
    """Whether the host of a tcp endpoint is an address of this machine, at which it can listen; a name is none."""
    host = host_of(endpoint)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        ip_address(host.partition("%")[0])
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((host, 0))
    except (ValueError, OSError):
        return False
    return True


def is_tcp(endpoint: str) -> bool:
    """Whether the network carries it, so that it has to be encrypted; files' permissions guard ipc."""
    return endpoint.startswith("tcp://")


def check_endpoint(endpoint: str) -> None:
    """Raises BadConfiguration unless `endpoint` is `ipc://PATH` or `tcp://HOST:PORT`, a place to connect to."""
    check_listening(endpoint)
    if listens_everywhere(endpoint):
        raise BadConfiguration(f"{endpoint} is a place to listen, and none to connect to", "name one address")


def check_listening(endpoint: str) -> None:
    """The same for a place to listen, which may be every address of this machine."""
    if not endpoint.isprintable():
        raise BadConfiguration(f"{endpoint!a} is no endpoint", "leave out line breaks and control characters")
    if endpoint.startswith("ipc://") and endpoint != "ipc://":
        if len(endpoint) - len("ipc://.pub") > 95:
            raise BadConfiguration(f"the path in {endpoint} is too long", "use one of at most 95 characters")
        return
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    written = endpoint.startswith("tcp://") and _HOST.fullmatch(host) and re.fullmatch("[0-9]{1,5}", port)
    if not written or not 0 < int(port) < 65_535:
        raise BadConfiguration(f"'{endpoint}' is no endpoint", "write ipc:///path or tcp://address:port")


def share(endpoint: str) -> None:
    """Let the group at a bound ipc path when its folder is ours and open to the group, and to nobody else."""
    path = Path(endpoint.removeprefix("ipc://"))
    folder = path.parent.stat()
    if folder.st_uid == os.geteuid() and folder.st_mode & 0o017 == 0o010:
        path.chmod(0o660)


def lock_file(endpoint: str) -> Path:
    """The file that whoever listens at an ipc path holds."""
    return Path(endpoint.removeprefix("ipc://") + ".lock")


def claim(endpoint: str) -> IO[str] | None:
    """Keep a second daemon off an ipc path, since binding it again would silently steal it; hold what comes back.

    Raises BadConfiguration.
    """
    check_listening(endpoint)
    if not endpoint.startswith("ipc://"):
        return None
    path = Path(endpoint.removeprefix("ipc://"))
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for place in (path, Path(f"{path}.pub")):
        if os.path.lexists(place) and not stat.S_ISSOCK(place.lstat().st_mode):  # binding would remove it
            raise BadConfiguration(f"{place} is a file, and no socket", "choose another endpoint")
    try:
        return lock(lock_file(endpoint))
    except BlockingIOError as error:
        raise BadConfiguration(
            f"another daemon listens at {endpoint}", "stop it, or choose another endpoint"
        ) from error
