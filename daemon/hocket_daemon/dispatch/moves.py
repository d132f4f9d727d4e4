"""The decision whether an answer moves now, and to which side, because it pays (DiSCo Eq. 4–6). Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hocket_bus.messages import Side, other

from .policies.migration import buffer_tokens, worth_moving
from .terms import Terms


class Position(NamedTuple):
    """The state of an answer: its tokens, who writes, and seconds since the first token."""

    tokens: int
    writer: Side
    age_s: float


class MigrationPolicy:
    """A check at every token whether to move. With migration "stop" it waits until the reader has enough in hand."""

    def __init__(self, terms: Terms, to_read: Callable[[Side], int]) -> None:
        """Create it; `to_read` returns how many tokens a side would have to read before it could write."""
        self.waits = terms.migration == "stop"  # the source stops before the target reads
        self._terms = terms
        self._to_read = to_read

    def target(self, at: Position) -> Side | None:
        """Return the side to move to now; None to stay."""
        if self._terms.migration == "off":
            return None
        target, dispatcher = other(at.writer), self._terms.dispatcher
        if target == "device" and dispatcher.prefers_cloud:
            return None
        remaining = dispatcher.lengths.remaining(at.tokens)
        if not worth_moving(dispatcher.costs, at.writer, remaining, self._to_read(target)):
            return None
        return target if not self.waits or self._in_hand(at) >= self._buffer(target) else None

    def _in_hand(self, at: Position) -> float:
        """Tokens that a reader of the pace has not read yet."""
        return max(0.0, at.tokens - 1 - at.age_s * self._terms.pace)

    def _buffer(self, target: Side) -> int:
        """Return B of Eq. 6, by what is known of how long the target takes to its first token."""
        dispatcher = self._terms.dispatcher
        if target == "device":
            return buffer_tokens(self._terms.pace, dispatcher.device_ttft.at(self._to_read(target)))
        return buffer_tokens(self._terms.pace, dispatcher.server_profile.ttfts().mean())
