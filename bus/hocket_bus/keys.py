"""Who this machine is on the bus, and whom it knows: a CURVE key pair and its peers, in files only their owner changes.

A public key is 40 characters of Z85 (ZeroMQ RFC 32). People compare fingerprints: the first 100 bits of its SHA-256.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from .config import load
from .errors import BadConfiguration, BadRequest

SECRET, PEERS = "secret.toml", "peers.toml"
_SECRET_MODE, _PEERS_MODE = 0o600, 0o640  # a service reads whom it knows from a file that only root changes
SELF = "(self)"  # no peer can have this name
_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")

Z85Key = Annotated[str, Meta(min_length=40, max_length=40)]


class KeyPair(Struct, frozen=True, forbid_unknown_fields=True):
    """This machine's own key; the secret half leaves it never."""

    public: Z85Key
    secret: Z85Key

    def __repr__(self) -> str:
        """Without the secret, which must not get into a log."""
        return f"KeyPair({self.public})"


class Peer(Struct, frozen=True, forbid_unknown_fields=True):
    """A machine that may connect here; with an endpoint also one that is connected to."""

    key: Z85Key
    endpoint: str = ""


class _Peers(Struct, frozen=True, forbid_unknown_fields=True):
    peers: dict[str, Peer] = {}


class Keys:
    """The keys in a folder, as last read."""

    def __init__(self, folder: Path) -> None:
        """Raises BadConfiguration when the files are missing, or others could read or change them."""
        self.folder = folder
        self.own = _own(folder)
        self.peers = read_peers(folder)

    def reload(self) -> None:
        """Read the peers again. Raises BadConfiguration and keeps those it had."""
        self.peers = read_peers(self.folder)

    def name_of(self, key: str) -> str | None:
        """The name under which a public key is allowed; this machine's own may greet its own servers, as SELF."""
        own = SELF if key == self.own.public else None
        return next((name for name, peer in self.peers.items() if peer.key == key), own)

    def server_key(self, endpoint: str) -> str:
        """The public key that the server at `endpoint` must have. Raises BadConfiguration."""
        known = next((peer.key for peer in self.peers.values() if peer.endpoint == endpoint), None)
        if known is None:
            raise BadConfiguration(
                f"the key of {endpoint} is not known here",
                f"see it there with: hocket keys show; then here: hocket keys allow NAME KEY --at {endpoint}",
            )
        return known


def exist(folder: Path) -> bool:
    """Whether this machine has a key."""
    return (folder / SECRET).exists()


def write_own(folder: Path, own: KeyPair) -> None:
    """Keep a new key pair. Raises BadRequest where there is one already."""
    if exist(folder):
        raise BadRequest(
            f"{folder / SECRET} exists; a new key would lock this machine out everywhere",
            "print it with: hocket keys show --at ENDPOINT; remove the file to insist",
        )
    _write(folder / SECRET, f"public = '{own.public}'\nsecret = '{own.secret}'\n")


def read_peers(folder: Path) -> dict[str, Peer]:
    """Peers by name. Raises BadConfiguration."""
    path = folder / PEERS
    if not path.exists():
        return {}
    _check_mode(path, _PEERS_MODE)
    peers = load(path, _Peers).peers
    for name, peer in peers.items():
        _check_key(peer.key, f"{path}, peer {name}")
    return peers


def write_peers(folder: Path, peers: dict[str, Peer]) -> None:
    """Replace the peers, whole or not at all. Raises BadRequest for malformed names and keys."""
    lines = []
    for name, peer in sorted(peers.items()):
        if not _NAME.fullmatch(name):
            raise BadRequest(f"'{name}' is no name", "use letters, digits, dots, dashes and underscores")
        _check_key(peer.key, name)
        lines += [
            f"[peers.'{name}']",
            f"key = '{peer.key}'",
            *([f"endpoint = '{peer.endpoint}'"] if peer.endpoint else []),
        ]
    _write(folder / PEERS, "\n".join([*lines, ""]))


def fingerprint(key: str) -> str:
    """Twenty characters that people can compare, in groups of four."""
    digest = base64.b32encode(hashlib.sha256(key.encode()).digest()).decode().lower()
    return "-".join(digest[i : i + 4] for i in range(0, 20, 4))


def z85(raw: bytes) -> str:
    """Z85 of a length divisible by 4 (ZeroMQ RFC 32): five characters for four bytes."""
    out = []
    for start in range(0, len(raw), 4):
        number = int.from_bytes(raw[start : start + 4], "big")
        out += [_ALPHABET[number // 85**power % 85] for power in (4, 3, 2, 1, 0)]
    return "".join(out)


def _own(folder: Path) -> KeyPair:
    path = _handed_over() or folder / SECRET
    if not path.exists():
        raise BadConfiguration(f"this machine has no key in {folder}", "make one: hocket keys new")
    if path.parent == folder:
        _check_mode(path, _SECRET_MODE)
    own = load(path, KeyPair)
    _check_key(own.public, str(path))
    _check_key(own.secret, str(path))
    return own


def _check_key(key: str, origin: str) -> None:
    if len(key) != 40 or not set(key) <= set(_ALPHABET):
        raise BadRequest(f"{origin}: that is no public key", "copy all 40 characters of: hocket keys show")


def _handed_over() -> Path | None:
    """The secret as systemd gives it to this service alone (LoadCredential=secret.toml:…), if it does."""
    path = Path(os.environ.get("CREDENTIALS_DIRECTORY", ""), SECRET)
    return path if path.is_absolute() and path.exists() else None


def _check_mode(path: Path, allowed: int) -> None:
    if path.stat().st_mode & 0o777 & ~allowed:
        raise BadConfiguration(f"others can read or change {path}", f"chmod {allowed:o} {path}")


def _write(path: Path, text: str) -> None:
    """Replace a file, or make it for this user alone; who may read it stays as it was."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        if path.exists():
            shutil.copymode(path, partial)
            os.fchown(file.fileno(), -1, path.stat().st_gid)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(path)
