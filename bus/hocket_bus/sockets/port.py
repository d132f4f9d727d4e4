"""Interface of what the loop of a bus turns: a Server, a Link or a Probe."""

from __future__ import annotations

from typing import Protocol


class Port(Protocol):
    """A port: one end of connections. Everything here is called in the loop, and must not block."""

    @property
    def due_s(self) -> float:
        """Return when `tick` is next needed, on the monotonic clock; infinite for a port without timers."""

    def start(self) -> None:
        """Open what must be open before the first turn. Raises BadConfiguration."""

    def tick(self, now: float) -> None:
        """Act on what is due; called at every turn. `now` is time.monotonic()."""

    def on_wake(self) -> None:
        """React to the end of the machine's sleep."""

    def on_close(self) -> None:
        """Release everything but the sockets, which close with the bus."""
