"""For benchmarks: first tokens held back, so that a side takes as long to its first as one that was recorded."""

from __future__ import annotations

from pathlib import Path

from hocket_bus.errors import BadConfiguration


class Holds:
    """Seconds from a file, a line each: the n-th prompt read here gives its first token no sooner than that."""

    def __init__(self, file: str) -> None:
        """An empty name: nothing is held. Raises BadConfiguration."""
        self._seconds = iter(_seconds(Path(file)) if file else ())

    def next(self) -> float:
        """How long the next prompt's first token is held; 0 behind the last line."""
        return next(self._seconds, 0.0)


def _seconds(file: Path) -> list[float]:
    try:
        return [float(line) for line in file.read_text(encoding="utf-8").split()]
    except (OSError, ValueError) as error:
        raise BadConfiguration(f"[model] hold_first: {file} cannot be read: {error}", "give a number a line") from error
