"""Greedy decoding along a row: what is proposed is verified several tokens a pass, and typed letters are spelled first.

Law: the tokens are those of plain greedy decoding from a fresh row, whatever was proposed and whatever the row held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from hocket_bus.alike import alike

from ..engine.preemption import Preempted
from ..engine.runtime.sequences import Prefill
from ..engine.segments import Segment
from ..engine.voice import Voice
from .lookup import Lookup
from .path import Path
from .pieces import Pieces

PART = 32  # tokens of a prompt that a pass reads, so that nobody who types waits long
VERIFIED = 8  # unread tokens that are read in one pass with what is proposed behind them


class Row:
    """A row of a voice's memory, and the ids whose keys and values it holds. For the compute thread alone."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self._row: int | None = None
        self._held: list[int] = []
        self.passes = 0  # made so far

    def begin(self, ids: Sequence[int]) -> list[int]:
        """Roll back to what the row shares with `ids`; what is missing of them, at least the last. Raises Busy."""
        if self._row is None:
            (self._row,) = self._voice.slots.take(1)
        common = alike(self._held, ids[:-1])
        self._held = self._held[:common]
        self._voice.slots.roll_back(self._row, common)
        return list(ids[common:])

    def append(self, ids: list[int], *, every: bool = False) -> Prefill[NDArray[np.float32]]:
        """Read `ids` in one pass: probabilities behind the last of them, or behind every one."""
        assert self._row is not None
        behind = yield Segment([self._row], [ids], every)
        self._held += ids
        self.passes += 1
        return behind

    def close(self) -> None:
        """Give the row back."""
        if self._row is not None:
            self._voice.slots.give_back([self._row])
            self._row = None


def read(row: Row, ids: Sequence[int], leave: int = 0) -> Prefill[None]:
    """Read what the row lacks of `ids`, in short parts, but for the last `leave`."""
    missing = row.begin(ids)
    until = len(missing) - leave
    for first in range(0, until, PART):
        yield from row.append(missing[first : min(first + PART, until)])


def complete(
    row: Row,
    reference: Sequence[int],
    path: Path,
    pieces: Pieces,
    *,
    eos: Sequence[int],
    lookup: Lookup,
    enough: Callable[[Path], bool],
) -> Prefill[Path]:
    """Lengthen `path`, whose window stands behind `reference`, until it is `enough` or ends.

    When it is interrupted it is returned as far as it has come: who types along it need not begin again.
    """
    prompt = [*reference, *path.window.ids]
    while not path.ended and not enough(path):
        ids = [*prompt, *path.tokens]
        try:
            yield from read(row, ids, leave=VERIFIED)
            missing = row.begin(ids)
            proposed = lookup.propose(ids, _untyped(path, pieces), pieces)
            behind = yield from row.append([*missing, *proposed], every=True)
        except Preempted:
            break
        path = _verified(path, behind[len(missing) - 1 :], proposed, pieces, eos=eos, enough=enough)
    return path


def _verified(
    path: Path,
    behind: NDArray[np.float32],
    proposed: list[int],
    pieces: Pieces,
    *,
    eos: Sequence[int],
    enough: Callable[[Path], bool],
) -> Path:
    """The path with the likeliest token behind it, and further ones as long as they are the proposed ones."""
    for at, probabilities in enumerate(behind):
        token = _likeliest(probabilities, _untyped(path, pieces), pieces)
        if token in eos:
            return Path(path.window, path.tokens, ended=True)
        path = Path(path.window, (*path.tokens, token))
        if at == len(proposed) or token != proposed[at] or enough(path):
            break
    return path


def _likeliest(probabilities: NDArray[np.float32], typed: str, pieces: Pieces) -> int:
    if not typed:
        return int(probabilities.argmax())
    fitting = pieces.fitting(typed)
    return int(fitting[probabilities[fitting].argmax()])


def _untyped(path: Path, pieces: Pieces) -> str:
    """What is left to be spelled of the typed letters."""
    spelled = sum(len(pieces.of(token)) for token in path.tokens[: len(path.window.typed)])
    return path.window.typed[spelled:]
