"""Whose process is at the other end of a connection from this machine, as the kernel's tables of sockets have it."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Sequence
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
# A socket that its process has closed is listed as root's, and so is one in TIME_WAIT: neither has an inode.
NO_INODE = b"0"
# ESTABLISHED, FIN_WAIT1, FIN_WAIT2, CLOSE_WAIT. One that connects only now is no end of a connection yet.
CONNECTED = (b"01", b"04", b"05", b"08")
OVERFLOW_UID = 65_534  # every user whom this namespace does not know

Address = tuple[str, int | None]


def uid_of_peer(peer: Address, own: Address, tables: Sequence[Path] = TABLES) -> int | None:
    """The user of the socket that is bound to `peer` and connected to `own`; None where that is not certain."""
    try:
        ends = {_row_of(peer, own, version) for version in (4, 6)} - {b""}
        for table in tables:  # two sockets with the same ends cannot be: what is in the first table is in no other
            rows = [row.split() for row in _lines(table) if any(end in row for end in ends)]
            if found := {int(row[7]) for row in rows if row[3] in CONNECTED and row[9] != NO_INODE}:
                return found.pop() if len(found) == 1 else None
    except (OSError, ValueError, IndexError, TypeError):  # of a unix socket
        return None
    return None


class ConnectionPeer:
    """The other end of one connection, which is looked for once, when it is first asked for."""

    def __init__(self, peer: Address | None, own: Address | None) -> None:
        self._peer, self._own = peer, own

    @cached_property
    def uid(self) -> int | None:
        """Its user; None where that is not certain."""
        return uid_of_peer(self._peer, self._own) if self._peer and self._own else None


def is_owner(uid: int | None) -> bool:
    """Whether a user may do all that this process may: its own user, and root."""
    return uid == 0 or (uid is not None and uid == os.geteuid() and uid != OVERFLOW_UID)


def _lines(table: Path) -> list[bytes]:
    return table.read_bytes().splitlines()[1:] if table.exists() else []


def _row_of(peer: Address, own: Address, version: int) -> bytes:
    """What the peer's row has in the table of a version; empty where such an address has no row there."""
    there, here = _as_version(peer[0], version), _as_version(own[0], version)
    if there is None or here is None:
        return b""
    return f" {_hex(there)}:{peer[1]:04X} {_hex(here)}:{own[1]:04X} ".encode()


def _as_version(text: str, version: int) -> IPv4Address | IPv6Address | None:
    """The address in the tables of a version: an IPv4 one stands in both, where a socket of IPv6 is its end."""
    address = ip_address(text.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else address
    if version == 4:
        return mapped
    return IPv6Address(b"\0" * 10 + b"\xff\xff" + mapped.packed) if mapped is not None else address


def _hex(address: IPv4Address | IPv6Address) -> str:
    """As the kernel prints it: words of 32 bits, each in the order of this machine."""
    words = struct.unpack(f"{'<' if sys.byteorder == 'little' else '>'}{len(address.packed) // 4}I", address.packed)
    return "".join(f"{word:08X}" for word in words)
