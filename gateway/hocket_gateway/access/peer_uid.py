"""The user of the process at the other end of a connection from this machine, as the kernel reports it."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Sequence
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from .sock_diag import SocketFound, tcp_socket

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))  # where the kernel answers nothing else
CONNECTED = (1, 4, 5, 8)  # ESTABLISHED, FIN_WAIT1, FIN_WAIT2, CLOSE_WAIT; one that connects only now is no end yet
OVERFLOW_UID = 65_534  # every user whom this namespace does not know

IpAddress = IPv4Address | IPv6Address
Address = tuple[str, int | None]
Ends = tuple[tuple[IpAddress, int], tuple[IpAddress, int]]  # of one version: where the socket is, and its other end


def uid_of_peer(peer: Address, own: Address, tables: Sequence[Path] = TABLES) -> int | None:
    """Return the user of the socket that is bound to `peer` and connected to `own`; None if that is not certain."""
    of_both = ends(peer, own)
    found = asked(of_both) or listed(of_both, tables)
    return found.uid if found else None


def ends(peer: Address, own: Address) -> list[Ends]:
    """Return the addresses of both ends for IPv4 and IPv6: an IPv6 socket may hold an IPv4 address in mapped form."""
    try:
        return [
            ((here, int(peer[1] or 0)), (there, int(own[1] or 0)))
            for version in (4, 6)
            if (here := _as_version(peer[0], version)) and (there := _as_version(own[0], version))
        ]
    except (ValueError, TypeError):  # of a unix socket
        return []


def asked(every: Sequence[Ends]) -> SocketFound | None:
    """Return the peer's socket, as the kernel describes it; None if it does not, or if the socket is closed."""
    for here, there in every:
        try:
            found = tcp_socket(here, there)
        except OSError:
            continue
        if _is_an_end(found):
            return found
    return None


def listed(every: Sequence[Ends], tables: Sequence[Path]) -> SocketFound | None:
    """Find the socket in the kernel's tables; None if there is none, or if two users have such a socket."""
    begins = [f" {_hex(here)} {_hex(there)} ".encode() for here, there in every]
    for table in tables:  # two sockets with the same ends cannot be: what is in the first table is in no other
        try:
            rows = [row.split() for row in table.read_bytes().splitlines()[1:] if any(end in row for end in begins)]
            found = [SocketFound(int(row[3], 16), int(row[7]), int(row[9])) for row in rows]
        except (OSError, ValueError, IndexError):
            continue
        if connected := [each for each in found if _is_an_end(each)]:
            return connected[0] if len({each.uid for each in connected}) == 1 else None
    return None


def _is_an_end(found: SocketFound) -> bool:
    """Tell whether a process holds this socket: one that was closed is listed as root's, and has no inode."""
    return found.state in CONNECTED and found.inode != 0


class ConnectionPeer:
    """The other end of one connection, looked up once, on first use."""

    def __init__(self, peer: Address | None, own: Address | None) -> None:
        self._peer, self._own = peer, own

    @cached_property
    def uid(self) -> int | None:
        """Return the other end's user; None if that is not certain."""
        return uid_of_peer(self._peer, self._own) if self._peer and self._own else None


def is_owner(uid: int | None) -> bool:
    """Tell whether a user may do all that this process may: its own user, and root."""
    return uid == 0 or (uid is not None and uid == os.geteuid() and uid != OVERFLOW_UID)


def _as_version(text: str, version: int) -> IpAddress | None:
    address = ip_address(text.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else address
    if version == 4:
        return mapped
    return IPv6Address(b"\0" * 10 + b"\xff\xff" + mapped.packed) if mapped is not None else address


def _hex(end: tuple[IpAddress, int]) -> str:
    """Format an address as the kernel prints it: words of 32 bits, each in this machine's byte order, and the port."""
    packed = end[0].packed
    words = struct.unpack(f"{'<' if sys.byteorder == 'little' else '>'}{len(packed) // 4}I", packed)
    return f"{''.join(f'{word:08X}' for word in words)}:{end[1]:04X}"
