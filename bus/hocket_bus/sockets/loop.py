"""Interface of the loop that turns a port."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .awake_clock import AwakeClock
from .events import Event
from .socket_set import SocketSet


class Loop(Protocol):
    """A thread that owns sockets, such as Bus."""

    @property
    def awake_clock(self) -> AwakeClock:
        """Return the clock of the loop's turns."""

    @property
    def sockets(self) -> SocketSet:
        """Return the sockets that the loop owns; to be used in the loop only."""

    def do(self, command: Callable[[], None]) -> None:
        """Run `command` in the loop: at once on the loop's thread, or before the loop has begun."""

    def emit(self, event: Event) -> None:
        """Pass on an event; to be called in the loop only."""
