"""A configured server: its address, and the API key it is given. Connects to nothing."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated
from urllib.parse import SplitResult, urlsplit

from msgspec import Meta

from ..config import FilePath
from ..errors import BadConfiguration
from ..trust.private import check_mode

CREDENTIAL = "hocket-server-key"
KeyFile = Annotated[
    FilePath,
    Meta(
        description="file that holds only the server's API key, readable by this user alone (chmod 600); "
        f"empty: systemd's credential `{CREDENTIAL}` if it exists, else no key"
    ),
]
_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
_KEY = re.compile(r"[!-~]{1,4096}")
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A server's address, the path of its requests and its key. The key appears in no text of it."""

    setting: str  # that names its url, as errors call it
    host: str
    port: int
    path: str  # of the requests
    is_encrypted: bool  # or else it is on this machine
    key: str = field(repr=False)  # empty: none

    @property
    def authority(self) -> str:
        """Return HOST:PORT."""
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def place(self) -> str:
        """Return the server's name in errors."""
        return f"the server at {self.authority}"

    def post(self, data: bytes, accept: str, *, keeps: bool = False) -> bytes:
        """Return a whole request with JSON, for an answer of type `accept`; `keeps` leaves the connection open."""
        lines = [
            f"POST {self.path} HTTP/1.1",
            f"Host: {self.authority}",
            "User-Agent: hocket",
            f"Accept: {accept}",
            "Content-Type: application/json",
            f"Content-Length: {len(data)}",
            *([f"Authorization: Bearer {self.key}"] if self.key else []),
            f"Connection: {'keep-alive' if keeps else 'close'}",
        ]
        return "".join(f"{line}\r\n" for line in [*lines, ""]).encode("ascii") + data


def server_at(setting: str, url: str, path: str, key_file: str) -> ServerAddress:
    """Return the server at `url`, the value of `setting`; `path` is relative to its /v1. Raises BadConfiguration."""
    parts = _split(setting, url)
    host = parts.hostname or ""
    if parts.scheme == "http" and not is_here(host):
        raise BadConfiguration(f"{setting}: http to {host} is not encrypted", "use https, or http to localhost only")
    return ServerAddress(
        setting,
        host,
        parts.port or _PORTS[parts.scheme],
        f"{parts.path.rstrip('/') or '/v1'}/{path}",
        parts.scheme == "https",
        _key(setting, key_file),
    )


def is_here(host: str) -> bool:
    """Tell whether a host name or address is that of this machine itself (localhost or a loopback address)."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _split(setting: str, url: str) -> SplitResult:
    """Split a url that has an address and nothing else. Raises BadConfiguration, without any password in it."""
    wrong = BadConfiguration(f"{setting} is not a server address", "write https://host or http://localhost:port")
    try:
        parts = urlsplit(url)
        is_port = parts.port is None or parts.port > 0
    except ValueError:
        raise wrong from None
    if parts.username is not None or parts.password is not None:
        raise BadConfiguration(
            f"{setting} contains a user name or a password", "put the key into a file, and name it in key_file"
        )
    if parts.query or parts.fragment or "?" in url or "#" in url:
        raise BadConfiguration(f"{setting} has a query or a fragment", "remove everything from ? or # on")
    is_plain = bool(re.fullmatch(r"[!-~]+", url)) and bool(_HOST.fullmatch(parts.hostname or ""))
    if parts.scheme not in _PORTS or not is_port or not is_plain:
        raise wrong
    return parts


def _key(setting: str, key_file: str) -> str:
    """Return the key in the file or in systemd's credential; empty if there is neither. Raises BadConfiguration."""
    handed_over = Path(os.environ.get("CREDENTIALS_DIRECTORY", ""), CREDENTIAL)
    if key_file:
        return _read(setting, Path(key_file), is_own=True)
    if handed_over.is_absolute() and handed_over.exists():
        return _read(setting, handed_over, is_own=False)
    return ""


def _read(setting: str, path: Path, *, is_own: bool) -> str:
    """Read the key in a file. Others must not be able to read one that is the user's own. Raises BadConfiguration."""
    try:
        if is_own:
            check_mode(path, 0o600)
        with path.open(encoding="ascii") as file:
            key = file.read(8_192).strip()
    except OSError as error:
        table = setting.partition(" ")[0]
        raise BadConfiguration(f"the server's key in {path}: {error.strerror}", f"check {table} key_file") from error
    except UnicodeDecodeError:
        key = ""
    if not _KEY.fullmatch(key):
        raise BadConfiguration(f"{path} holds no key", "write the server's key into it, on one line and nothing else")
    return key
