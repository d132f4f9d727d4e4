"""For benchmarks: first tokens held back, so that a side takes as long to its first as one that was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from hocket_bus.errors import BadConfiguration


class Hold(NamedTuple):
    """A first token comes no sooner than k l + c seconds behind the beginning, l being the tokens that were read."""

    k: float = 0.0
    c: float = 0.0

    def seconds(self, tokens: int) -> float:
        """Behind so many tokens."""
        return self.k * tokens + self.c


class Holds:
    """A hold from each line of a file, c alone or k and c: the n-th one is for the n-th prompt read here."""

    def __init__(self, file: str) -> None:
        """An empty name: nothing is held. Raises BadConfiguration."""
        self._holds = iter(_holds(Path(file)) if file else ())

    def next(self) -> Hold:
        """How long the next prompt's first token is held; not at all behind the last line."""
        return next(self._holds, Hold())


def _holds(file: Path) -> list[Hold]:
    try:
        return [_hold(line) for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        text = f"[model] hold_first: {file} cannot be read: {error}"
        raise BadConfiguration(text, "give seconds in each line, or seconds a token and seconds") from error


def _hold(line: str) -> Hold:
    match [float(word) for word in line.split()]:
        case [seconds]:
            return Hold(c=seconds)
        case [each_s, seconds]:
            return Hold(each_s, seconds)
        case _:
            raise ValueError(f"'{line[:50]}' is neither one number nor two")
