"""The machine's identity on the bus, the peers that it knows, and what each may do here.

The CURVE key pair and the peers are stored in files that only their owner changes. A public key is 40 characters of
Z85 (ZeroMQ RFC 32). People compare fingerprints: the first 100 bits of the key's SHA-256.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from ..config import load, quoted
from ..errors import BadConfiguration, BadRequest
from ..messages import RIGHTS, Right
from .private import changing, check_mode, write_new, write_whole

SECRET, PEERS = "secret.toml", "peers.toml"
_SECRET_MODE, _PEERS_MODE = 0o600, 0o640  # a service reads whom it knows from a file that only root changes
SELF = "(self)"  # no peer can have this name
_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")

Z85Key = Annotated[str, Meta(min_length=40, max_length=40)]


class KeyPair(Struct, frozen=True, forbid_unknown_fields=True):
    """The machine's own key pair; the secret half never leaves the machine."""

    public: Z85Key
    secret: Z85Key

    def __repr__(self) -> str:
        """Return a text without the secret, which must not get into a log."""
        return f"KeyPair({self.public})"


class Peer(Struct, frozen=True):
    """A known machine: its key, and the endpoint at which it is reached if it is connected to.

    If `may` is not given, it is the least right that the entry can serve: to be dialled at its endpoint, or to pair.
    """

    key: Z85Key
    endpoint: str = ""
    may: frozenset[Right] | None = None

    @property
    def rights(self) -> frozenset[Right]:
        """Return what the machine's key may do here."""
        unsaid: Right = "dial" if self.endpoint else "pair"
        return frozenset({unsaid}) if self.may is None else self.may


class _Written(Struct, frozen=True, forbid_unknown_fields=True):
    """A peer as written in the file."""

    key: Z85Key
    endpoint: str = ""
    may: list[str] | None = None


class _Peers(Struct, frozen=True, forbid_unknown_fields=True):
    peers: dict[str, _Written] = {}


class Keys:
    """The keys in a folder, as last read."""

    def __init__(self, folder: Path) -> None:
        """Read the keys. Raises BadConfiguration if files are missing, or others could read or change them."""
        self.folder = folder
        self.own = _own(folder)
        self.reload()

    def reload(self) -> None:
        """Read the peers again. Raises BadConfiguration, and then keeps the former ones."""
        self.peers = read_peers(self.folder)
        rights: dict[str, frozenset[Right]] = {}
        for peer in self.peers.values():
            rights[peer.key] = rights.get(peer.key, frozenset()) | peer.rights
        self._rights = {name: rights[peer.key] for name, peer in self.peers.items()}

    def may(self, name: str) -> frozenset[Right]:
        """Return the rights of the key with this name, from all names that it has; an unknown name has none."""
        return self._rights.get(name, frozenset())

    def unsaid(self) -> list[str]:
        """Return the names of the peers whose rights are not given in the file."""
        return [name for name, peer in self.peers.items() if peer.may is None]

    def lets_in(self, name: str) -> bool:
        """Tell whether the key of this name may connect here at all."""
        return bool(self.may(name) - {"dial"})

    def known_as(self, key: str) -> str | None:
        """Return the name of a public key, whatever its rights; None if it is unknown."""
        return next((name for name, peer in self.peers.items() if peer.key == key), None)

    def name_of(self, key: str) -> str | None:
        """Return the name under which a public key may connect, or None. This machine's own key may, as SELF."""
        name = self.known_as(key)
        if name is not None and self.lets_in(name):
            return name
        return SELF if key == self.own.public else None

    def giving(self, name: str, right: Right) -> str:
        """Return the command that gives the key of this name one more right."""
        peer = self.peers.get(name, Peer(self.own.public, may=frozenset()))
        at = f" --at {peer.endpoint}" if peer.endpoint else ""
        called = name if name in self.peers else "self"
        return f"hocket keys allow {called} '{peer.key}'{at} --may {listed((peer.rights | {right}) - {'dial'})}"

    def server_key(self, endpoint: str) -> str:
        """Return the public key that the server at `endpoint` must have. Raises BadConfiguration."""
        dialled = (peer.key for peer in self.peers.values() if peer.endpoint == endpoint and "dial" in peer.rights)
        known = next(dialled, None)
        if known is None:
            raise BadConfiguration(
                f"the key of {endpoint} is not known here",
                f"see it there with: hocket keys show; then here: hocket keys allow NAME KEY --at {endpoint}",
            )
        return known


def exist(folder: Path) -> bool:
    """Tell whether this machine has a key."""
    return (folder / SECRET).exists()


def write_own(folder: Path, own: KeyPair) -> None:
    """Store a new key pair. Raises BadRequest if there is one already."""
    try:
        write_new(folder / SECRET, f"public = '{own.public}'\nsecret = '{own.secret}'\n")
    except FileExistsError as error:
        raise BadRequest(
            f"{folder / SECRET} exists; a new key would lock this machine out everywhere",
            "print it with: hocket keys show --at ENDPOINT; to replace it, remove the file",
        ) from error


def read_peers(folder: Path) -> dict[str, Peer]:
    """Read the peers, by name. Raises BadConfiguration, and BadRequest for a malformed key."""
    path = folder / PEERS
    if not path.exists():
        return {}
    check_mode(path, _PEERS_MODE)
    written = load(path, _Peers).peers
    for name, peer in written.items():
        _check_key(peer.key, f"{path}, peer {name}")
    return {name: _read(peer, f"{path}, peer {name}") for name, peer in written.items()}


def changing_peers(folder: Path) -> AbstractContextManager[None]:
    """Lock the peers against changes by others while the context lasts. Raises as `changing` does."""
    return changing(folder / PEERS)


def write_peers(folder: Path, peers: dict[str, Peer]) -> None:
    """Replace the peers, whole or not at all. Raises BadRequest for malformed names and keys."""
    lines = []
    for name, peer in sorted(peers.items()):
        if not _NAME.fullmatch(name):
            raise BadRequest(f"'{name}' is not a valid name", "use letters, digits, dots, dashes and underscores")
        _check_key(peer.key, name)
        lines += [
            f"[peers.'{name}']",
            f"key = '{peer.key}'",
            *([f"endpoint = {quoted(peer.endpoint)}"] if peer.endpoint else []),
            *([f"may = {[right for right in RIGHTS if right in peer.may]}"] if peer.may is not None else []),
        ]
    write_whole(folder / PEERS, "\n".join([*lines, ""]))


def rights(names: Iterable[str]) -> frozenset[Right]:
    """Return the rights with these names. Raises BadRequest for an unknown name, with the known ones."""
    known: dict[str, Right] = {right: right for right in RIGHTS}
    found = list(names)
    for name in found:
        if name not in known:
            raise BadRequest(f"there is no right '{name}'", f"use some of: {', '.join(RIGHTS)}")
    return frozenset(known[name] for name in found)


def listed(may: Collection[Right]) -> str:
    """Return rights as the command line takes them."""
    return ",".join(right for right in RIGHTS if right in may)


def fingerprint(key: str) -> str:
    """Return a key's fingerprint: twenty characters that people can compare, in groups of four."""
    digest = base64.b32encode(hashlib.sha256(key.encode()).digest()).decode().lower()
    return "-".join(digest[i : i + 4] for i in range(0, 20, 4))


def z85(raw: bytes) -> str:
    """Encode bytes, their number divisible by 4, as Z85 (ZeroMQ RFC 32): five characters for four bytes."""
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
        check_mode(path, _SECRET_MODE)
    own = load(path, KeyPair)
    _check_key(own.public, str(path))
    _check_key(own.secret, str(path))
    return own


def _read(peer: _Written, origin: str) -> Peer:
    try:
        may = None if peer.may is None else rights(peer.may)
    except BadRequest as error:
        raise BadConfiguration(f"{origin}: {error.text}", error.remedy) from error
    return Peer(peer.key, peer.endpoint, may)


def _check_key(key: str, origin: str) -> None:
    if len(key) != 40 or not set(key) <= set(_ALPHABET):
        raise BadRequest(f"{origin}: that is not a public key", "copy all 40 characters of: hocket keys show")


def _handed_over() -> Path | None:
    """Return the secret's path where systemd gives it to this service (LoadCredential=secret.toml:…), or None."""
    path = Path(os.environ.get("CREDENTIALS_DIRECTORY", ""), SECRET)
    return path if path.is_absolute() and path.exists() else None
