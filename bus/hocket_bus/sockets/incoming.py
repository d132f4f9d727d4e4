"""A message as it came: its first frames, the number of all frames, and their size."""

from __future__ import annotations

from dataclasses import dataclass

import zmq

from hocket_bus.limits.connections import SECURED_BYTES
from hocket_bus.wire import MAX_FRAMES

_SHORT = 255  # bytes that a short frame holds
_KEPT = MAX_FRAMES + 2  # with a route, and one that is too many


@dataclass(slots=True)
class Incoming:
    """An incoming message; `number` and `size` count every frame that came over the wire, and its bytes there.

    Of too many frames only the first are stored.
    """

    frames: list[zmq.Frame]
    number: int
    size: int

    def texts(self) -> list[bytes]:
        """Return the frames' bytes."""
        return [frame.bytes for frame in self.frames]


def wire_bytes(length: int) -> int:
    """Return how many bytes a frame of a message takes on an encrypted connection (RFC 23, RFC 26)."""
    secured = length + SECURED_BYTES
    return secured + (2 if secured <= _SHORT else 9)


def receive(socket: zmq.Socket[bytes], route: bool = False) -> Incoming:
    """Read one message. Raises zmq.Again if there is none. With `route` the socket has prepended the first frame."""
    frame = socket.recv(zmq.NOBLOCK, copy=False)
    frames, number, size = [frame], 0 if route else 1, 0 if route else wire_bytes(len(frame))
    while frame.more:
        frame = socket.recv(zmq.NOBLOCK, copy=False)
        number, size = number + 1, size + wire_bytes(len(frame))
        if len(frames) < _KEPT:
            frames.append(frame)
    return Incoming(frames, number, size)
