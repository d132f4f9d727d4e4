"""Cleartext greeting of the other end, which reveals whether it encrypts (ZeroMQ RFC 23, ZMTP 3.1).

An end that encrypts hangs up on one without its key, and one that does not encrypt hangs up on one that does. Only the
greeting distinguishes them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import zmq

SIGNATURE = b"\xff" + bytes(8) + b"\x7f" + bytes([3, 1])  # and the version: enough to be greeted in return
_MECHANISM = slice(12, 32)


class Greeting:
    """A reader of one STREAM socket; it calls `answered` once with whether the other end speaks CURVE."""

    def __init__(self, socket: zmq.Socket[bytes], answered: Callable[[bool], None]) -> None:
        self._socket = socket
        self._answered = answered
        self._bytes = b""

    def take(self, frames: list[bytes]) -> None:
        """Read a part; an empty one marks a connection's begin or end. Bytes that are no greeting are not CURVE."""
        route, part = frames
        if not part:
            self._bytes = b""
            with suppress(zmq.ZMQError):  # it began and has ended
                self._socket.send_multipart([route, SIGNATURE], zmq.NOBLOCK)
            return
        self._bytes += part
        if len(self._bytes) >= _MECHANISM.stop:
            self._answered(self._bytes[_MECHANISM].rstrip(b"\0") == b"CURVE")
