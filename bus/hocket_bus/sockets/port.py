"""What the loop of a bus turns: a Server, a Link or a Probe."""

from __future__ import annotations

from typing import Protocol


class Port(Protocol):
    """One end of connections. Everything here is called in the loop, and must not block."""

    @property
    def due_s(self) -> float:
        """When `tick` is next needed, on the monotonic clock; infinite for a port without timers."""

    def start(self) -> None:
        """Open what has to be open before the first turn. Raises BadConfiguration."""

    def tick(self, now: float) -> None:
        """Act on what is due; called at every turn. `now` is time.monotonic()."""

    def on_wake(self) -> None:
        """The machine has been asleep."""

    def on_close(self) -> None:
        """The bus closes, and the sockets with it: let go of everything else."""
