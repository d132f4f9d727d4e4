"""The greeting of the other end in clear, by which it tells whether it encrypts (ZeroMQ RFC 23, ZMTP 3.1).

An end that encrypts hangs up on who has not its key, one that does not on who encrypts; only the greeting tells which.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import zmq

SIGNATURE = b"\xff" + bytes(8) + b"\x7f" + bytes([3, 1])  # and the version: enough to be greeted in return
_MECHANISM = slice(12, 32)


class Greeting:
    """What comes over one STREAM socket; `answered` is told once whether the other end speaks CURVE."""

    def __init__(self, socket: zmq.Socket[bytes], answered: Callable[[bool], None]) -> None:
        self._socket = socket
        self._answered = answered
        self._bytes = b""

    def take(self, frames: list[bytes]) -> None:
        """An empty part says that a connection begins or ends; bytes that are not a greeting are not CURVE either."""
        route, part = frames
        if not part:
            self._bytes = b""
            with suppress(zmq.ZMQError):  # it began and has ended
                self._socket.send_multipart([route, SIGNATURE], zmq.NOBLOCK)
            return
        self._bytes += part
        if len(self._bytes) >= _MECHANISM.stop:
            self._answered(self._bytes[_MECHANISM].rstrip(b"\0") == b"CURVE")
