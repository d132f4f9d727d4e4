"""Whether an answer is to move now, and whither: by a benchmark's script, or because it pays (DiSCo Eq. 4–6). Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hocket_bus.errors import BadRequest
from hocket_bus.messages import Side, other

from .migration import buffer_tokens, worth_moving
from .race import SIDES
from .terms import Script, Terms

_REMEDY = 'write it as "device,20:cloud,40:device": who begins, and at which tokens the answer begins to move to whom'


def parse(text: str) -> Script | None:
    """What a script says, None for an empty one. Raises BadRequest for one that cannot be read."""
    if not text:
        return None
    first, *rest = text.split(",")
    moves = tuple(_move(part) for part in rest)
    steps = [step for step, _ in moves]
    if steps != sorted(set(steps)):
        raise BadRequest(f"the script '{text[:50]}' does not go forward", _REMEDY)
    return Script(_side(first), moves)


def _move(text: str) -> tuple[int, Side]:
    step, _, side = text.partition(":")
    if not step.isdigit() or int(step) < 1:
        raise BadRequest(f"'{step[:50]}' is no token of an answer", _REMEDY)
    return int(step), _side(side)


def _side(text: str) -> Side:
    for side in SIDES:
        if text == side:
            return side
    raise BadRequest(f"'{text[:50]}' is no side", _REMEDY)


class Position(NamedTuple):
    """How an answer stands: its tokens, who writes, and seconds since the first token."""

    tokens: int
    writer: Side
    age_s: float


class Mover:
    """Looks at every token. Where the migration is "stop" it waits until the reader has enough tokens in hand."""

    def __init__(self, terms: Terms, to_read: Callable[[Side], int]) -> None:
        """`to_read` tells how many tokens a side would have to read before it could write."""
        self.waits = terms.migration == "stop"  # the source stops before the target reads
        self.is_scripted = terms.script is not None
        self._terms = terms
        self._to_read = to_read

    def target(self, at: Position) -> Side | None:
        """Whither to move now; None: stay."""
        if self._terms.script is not None:
            return self._by_script(self._terms.script, at)
        if self._terms.migration == "off":
            return None
        target, dispatcher = other(at.writer), self._terms.dispatcher
        remaining = dispatcher.lengths.remaining(at.tokens)
        if not worth_moving(dispatcher.costs, at.writer, remaining, self._to_read(target)):
            return None
        return target if not self.waits or self._in_hand(at) >= self._buffer(target) else None

    def _by_script(self, script: Script, at: Position) -> Side | None:
        due = [side for step, side in script.moves if step <= at.tokens]
        return due[-1] if due and due[-1] != at.writer else None

    def _in_hand(self, at: Position) -> float:
        """Tokens that a reader of the pace has not read yet."""
        return max(0.0, at.tokens - 1 - at.age_s * self._terms.pace)

    def _buffer(self, target: Side) -> int:
        """B of Eq. 6, by what is known of how long the target takes to its first token."""
        dispatcher = self._terms.dispatcher
        if target == "device":
            return buffer_tokens(self._terms.pace, dispatcher.device_line.at(self._to_read(target)))
        return buffer_tokens(self._terms.pace, dispatcher.server_profile.ttfts().mean())
