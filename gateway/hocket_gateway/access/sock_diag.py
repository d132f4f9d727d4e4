"""A look-up of one socket of this machine in the kernel over netlink: sock_diag(7), NETLINK_SOCK_DIAG.

The tables of /proc/net say the same, but the kernel walks all its sockets to print them, which takes milliseconds.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
NLMSG_ERROR = 2
NLM_F_REQUEST = 1
ANY_STATE = 0xFFFFFFFF
NO_COOKIE = b"\xff" * 8
WAIT_S = 1.0
MAX_BYTES = 8_192

HEAD = struct.Struct("=IHHII")  # nlmsghdr: length, type, flags, sequence number, port
REQUEST = struct.Struct("=BBBxI")  # inet_diag_req_v2: family, protocol, extensions, states
ENDS = struct.Struct("!HH16s16s4x8s")  # inet_diag_sockid: ports, addresses, interface, cookie
FOUND = struct.Struct("=BBBB48sIIIII")  # inet_diag_msg: family, state, …, expires, queues, user, inode

IpAddress = IPv4Address | IPv6Address


class SocketFound(NamedTuple):
    """A socket that was found; `state` as in include/net/tcp_states.h, `inode` is 0 if its process has closed it."""

    state: int
    uid: int
    inode: int


def tcp_socket(here: tuple[IpAddress, int], there: tuple[IpAddress, int]) -> SocketFound:
    """Return the TCP socket bound to `here` and connected to `there`, two addresses of one version.

    Raises OSError if there is none, or if the kernel or the service manager does not allow the query.
    """
    family = socket.AF_INET if here[0].version == 4 else socket.AF_INET6
    ends = ENDS.pack(here[1], there[1], here[0].packed, there[0].packed, NO_COOKIE)
    asked = REQUEST.pack(family, socket.IPPROTO_TCP, 0, ANY_STATE) + ends
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_SOCK_DIAG) as kernel:
        kernel.settimeout(WAIT_S)
        kernel.sendto(HEAD.pack(HEAD.size + len(asked), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 0, 0) + asked, (0, 0))
        answer = kernel.recv(MAX_BYTES)
    return _read(answer, ends[:36])


def _read(answer: bytes, ends: bytes) -> SocketFound:
    kind = HEAD.unpack_from(answer)[1]
    if kind == NLMSG_ERROR:
        number = -struct.unpack_from("=i", answer, HEAD.size)[0]
        raise OSError(number, os.strerror(number))
    _, state, _, _, described, _, _, _, uid, inode = FOUND.unpack_from(answer, HEAD.size)
    if kind != SOCK_DIAG_BY_FAMILY or described[:36] != ends:
        raise OSError(errno.EPROTO, os.strerror(errno.EPROTO))
    return SocketFound(state, uid, inode)
