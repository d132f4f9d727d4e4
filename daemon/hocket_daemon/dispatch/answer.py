"""The tokens of a dispatched answer: who wrote each, when a reader wants the next, and where they come from. Pure."""

from __future__ import annotations

from hocket_bus.messages import DispatchOutcome, Migration, Side
from hocket_bus.messages.dispatch import MAX_MOVES

from ..serving.records.sources import PeerSources, Trace, sourced
from ..serving.stream.prefix import PrefixChain
from ..serving.stream.reply import Sourced
from .moves import Position
from .writers.writers import OwnWriter


class Answer:
    """An answer that grows by one token at a time. Times are the monotonic clock's."""

    def __init__(self, chain: PrefixChain, pace: float) -> None:
        """Begin an empty answer; `chain` holds the ids; `pace` is in tokens a second."""
        self.migrations: list[Migration] = []
        self._chain = chain
        self._pace = pace
        self._writers: list[Side] = []  # of each token
        self.first_s = 0.0  # when its first token came
        self._moved = False  # whoever writes the next token took over from whoever wrote the last one

    def __len__(self) -> int:
        return len(self._chain)

    def is_of(self, side: Side) -> bool:
        """Tell whether the side wrote any of it."""
        return side in self._writers

    def ends_with(self, side: Side) -> bool:
        """Tell whether the side wrote its last token, for which it has read all others."""
        return self._writers[-1:] == [side]

    def hand_over(self) -> None:
        """Note that another side writes from here on."""
        self._moved = bool(self._writers)

    def add(self, side: Side, token: int, now: float) -> None:
        """Add the next token. The first one after a move records how long a reader has waited for it."""
        if not self._writers:
            self.first_s = now
        elif self._moved and side != self._writers[-1] and len(self.migrations) < MAX_MOVES:
            late_s = max(0.0, now - self.first_s - len(self) / self._pace)
            self.migrations.append(Migration(step=len(self), source=self._writers[-1], target=side, late_s=late_s))
        self._moved = False
        self._chain.append(token)
        self._writers.append(side)

    def position(self, now: float) -> Position:
        """Return the answer's position, once it has begun."""
        return Position(len(self), self._writers[-1], now - self.first_s)

    def outcome(self) -> DispatchOutcome:
        """Return the outcome that is reported to the reader."""
        return DispatchOutcome(
            winner=self._writers[0] if self._writers else None,
            device_tokens=self._writers.count("device"),
            cloud_tokens=self._writers.count("cloud"),
            migrations=self.migrations,
        )

    def sources(self, side: Side, writer: OwnWriter, reported: PeerSources | None) -> Sourced:
        """Return where its tokens come from; `side` is this one, whose writer it is; `reported` is of the other."""
        traces = [Trace(float(each == "device"), writer.part(step)) for step, each in enumerate(self._writers)]
        return sourced(side, writer.passages if self.is_of("device") else [], traces, reported)
