"""Limits on incoming data of one tcp connection that this machine has opened: waiting bytes, and floods of messages.

A dialled peer was chosen, so bytes that were requested may come as fast as they can; messages may not.
"""

from __future__ import annotations

import struct
import time

import zmq

from hocket_bus.errors import HocketError, ProtocolError
from hocket_bus.limits.connections import ENDLESS, MAX_WAITING_BYTES, Ends
from hocket_bus.limits.shares import Bucket

from .descriptors import ends_of, received
from .incoming import Incoming

POLL_S = 0.25
FRAMES_PER_S = 16_384
BURST_FRAMES = 131_072  # a stream that is read again after a break comes at once
_EVENT = struct.Struct("=Hi")


class InboundLimit:
    """Limits on one socket that connects to one endpoint, and reconnects."""

    def __init__(self) -> None:
        self.flooded = False
        self._number = -1
        self._ends: Ends | None = None
        self._taken = 0
        self._frames = Bucket(FRAMES_PER_S, BURST_FRAMES, time.monotonic())

    def on_event(self, frames: list[bytes]) -> bool:
        """Process an event of the socket's monitor; tell whether a connection was made."""
        event, number = _EVENT.unpack(frames[0])
        if event != zmq.EVENT_CONNECTED:
            return False
        self._number, self._ends, self._taken = number, ends_of(number), 0
        return True

    def take(self, message: Incoming) -> None:
        """Count a message that was taken."""
        self._taken += message.size
        self.flooded |= self._frames.spend(message.number, time.monotonic()) < 0

    def excess(self) -> HocketError | None:
        """Return why nothing more should be read, or None."""
        came = None if self._ends is None else received(self._number, self._ends)
        if came is not None and came - self._taken > MAX_WAITING_BYTES:
            return ProtocolError(ENDLESS, "check what runs there")
        return ProtocolError("it floods this machine with messages", "check what runs there") if self.flooded else None
