"""What a port needs of the loop that turns it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .awake_clock import AwakeClock
from .events import Event
from .socket_set import SocketSet


class Loop(Protocol):
    """One thread that owns sockets, as Bus is."""

    @property
    def awake_clock(self) -> AwakeClock:
        """The clock of its turns."""

    @property
    def sockets(self) -> SocketSet:
        """The sockets that it owns; to be used in the loop only."""

    def do(self, command: Callable[[], None]) -> None:
        """Run `command` in the loop: at once where this is its thread, or where it has not begun."""

    def emit(self, event: Event) -> None:
        """Tell what happened; to be called in the loop only."""
