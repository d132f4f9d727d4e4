"""Addresses of daemons: their syntax, the endpoints of their streams, and locks on ipc paths. Opens no socket."""

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
    """Return where the server at `endpoint` publishes its streams: path + '.pub', or the same host at `port`.

    0 stands for the port after the server's own.
    """
    if endpoint.startswith("ipc://"):
        return endpoint + ".pub"
    host, _, own = endpoint.rpartition(":")
    return f"{host}:{port or int(own) + 1}"


def from_here(endpoint: str) -> str:
    """Return the address at which this machine connects to the server that listens at `endpoint`."""
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    return f"tcp://{_FROM_HERE[host]}:{port}" if is_tcp(endpoint) and host in _FROM_HERE else endpoint


def listens_everywhere(endpoint: str) -> bool:
    """Tell whether the endpoint means all addresses of a machine; as such it is of no use to other machines."""
    return from_here(endpoint) != endpoint


def host_of(endpoint: str) -> str:
    """Return the host of `tcp://HOST:PORT`, IPv6 without brackets; empty for ipc, which stays on this machine."""
    if endpoint.startswith("ipc://"):
        return ""
    return endpoint.removeprefix("tcp://").rpartition(":")[0].strip("[]")


def has_address(endpoint: str) -> bool:
    """Tell whether the host of a tcp endpoint is an address of this machine to listen at. A host name is not one."""
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
    """Tell whether traffic crosses the network and must be encrypted; ipc is guarded by the files' permissions."""
    return endpoint.startswith("tcp://")


def check_endpoint(endpoint: str) -> None:
    """Raise BadConfiguration unless one can connect to `endpoint`, written `ipc://PATH` or `tcp://HOST:PORT`."""
    check_listening(endpoint)
    if listens_everywhere(endpoint):
        raise BadConfiguration(f"{endpoint} is an address to listen at, not to connect to", "give one address")


def check_listening(endpoint: str) -> None:
    """Raise BadConfiguration unless one can listen at `endpoint`, which may mean every address of this machine."""
    if not endpoint.isprintable():
        raise BadConfiguration(f"{endpoint!a} is not an endpoint", "leave out line breaks and control characters")
    if endpoint.startswith("ipc://") and endpoint != "ipc://":
        if len(endpoint) - len("ipc://.pub") > 95:
            raise BadConfiguration(f"the path in {endpoint} is too long", "use one of at most 95 characters")
        return
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    written = endpoint.startswith("tcp://") and _HOST.fullmatch(host) and re.fullmatch("[0-9]{1,5}", port)
    if not written or not 0 < int(port) < 65_535:
        raise BadConfiguration(f"'{endpoint}' is not an endpoint", "write ipc:///path or tcp://address:port")


def share(endpoint: str) -> None:
    """Give the group access to a bound ipc path if its folder is ours and open to the group, and to nobody else."""
    path = Path(endpoint.removeprefix("ipc://"))
    folder = path.parent.stat()
    if folder.st_uid == os.geteuid() and folder.st_mode & 0o017 == 0o010:
        path.chmod(0o660)


def lock_file(endpoint: str) -> Path:
    """Return the path of the lock file that a server at an ipc endpoint holds."""
    return Path(endpoint.removeprefix("ipc://") + ".lock")


def claim(endpoint: str) -> IO[str] | None:
    """Lock an ipc path against a second daemon, since binding it again would silently steal it.

    Hold the file that is returned; None for tcp. Raises BadConfiguration.
    """
    check_listening(endpoint)
    if not endpoint.startswith("ipc://"):
        return None
    path = Path(endpoint.removeprefix("ipc://"))
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for place in (path, Path(f"{path}.pub")):
        if os.path.lexists(place) and not stat.S_ISSOCK(place.lstat().st_mode):  # binding would remove it
            raise BadConfiguration(f"{place} is a file, not a socket", "choose another endpoint")
    try:
        return lock(lock_file(endpoint))
    except BlockingIOError as error:
        raise BadConfiguration(
            f"another daemon already listens at {endpoint}", "stop it, or choose another endpoint"
        ) from error
