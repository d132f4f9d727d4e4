"""The kernel's data on a tcp connection that libzmq holds, by the number of its descriptor.

libzmq may close a descriptor at any moment, and its number is soon another connection's. The addresses of both ends
identify the connection.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from hocket_bus.limits.connections import Ends

_INFO_BYTES, _RECEIVED = 136, struct.Struct("=128xQ")  # struct tcp_info: tcpi_bytes_received, of Linux 4.1

T = TypeVar("T")


def ends_of(number: int) -> Ends | None:
    """Return the addresses of a connection's two ends; None if the descriptor is no connection, or none any more."""
    return _asked(number, _ends)


def received(number: int, ends: Ends) -> int | None:
    """Return the bytes that have come over this connection, whether libzmq has read them or not.

    None if the number is another connection's by now.
    """
    return _asked(number, lambda sock: _received(sock) if _ends(sock) == ends else None)


def hang_up(number: int, ends: Ends) -> None:
    """End this connection if it still exists: libzmq then finds it broken, and frees what has come of a message."""
    with suppress(OSError):
        own = os.dup(number)  # whose connection nobody can change meanwhile
        try:
            with _tcp(own) as sock:
                if _ends(sock) == ends:
                    sock.shutdown(socket.SHUT_RDWR)
        finally:
            os.close(own)


@contextmanager
def _tcp(number: int) -> Iterator[socket.socket]:
    """Yield a socket for a descriptor, which stays open."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=number)
    try:
        yield sock
    finally:
        sock.detach()


def _asked(number: int, question: Callable[[socket.socket], T | None]) -> T | None:
    with suppress(OSError), _tcp(number) as sock:
        return question(sock)
    return None


def _ends(sock: socket.socket) -> Ends:
    return sock.getsockname(), sock.getpeername()


def _received(sock: socket.socket) -> int:
    return int(_RECEIVED.unpack_from(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES))[0])
