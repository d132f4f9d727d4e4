"""The steps of a dispatched answer: who wrote each, when a reader wants the next, and where they come from. Pure."""

from __future__ import annotations

from hocket_bus.messages import DispatchOutcome, Migration, Side
from hocket_bus.messages.dispatch import MAX_MOVES

from ..serving.records.sources import PeerSources, Trace, by_token, sourced
from ..serving.stream.prefix import PrefixChain
from ..serving.stream.reply import Sourced
from .moves import Position
from .writers.writers import OwnWriter


class Answer:
    """An answer that grows by a step at a time: a token, or a word of several. Times are the monotonic clock's."""

    def __init__(self, chain: PrefixChain, pace: float) -> None:
        """Begin an empty answer; `chain` holds the steps; `pace` is in tokens a second."""
        self.migrations: list[Migration] = []
        self._chain = chain
        self._pace = pace
        self._writers: list[Side] = []  # of each step
        self._steps_of: list[int] = []  # the step that each token belongs to
        self.first_s = 0.0  # when its first token came
        self._moved = False  # whoever writes the next token took over from whoever wrote the last one

    def __len__(self) -> int:
        return len(self._chain)

    @property
    def tokens(self) -> int:
        """The number of tokens so far, as the asked side's model has them."""
        return len(self._steps_of)

    def is_of(self, side: Side) -> bool:
        """Tell whether the side wrote any of it."""
        return side in self._writers

    def ends_with(self, side: Side) -> bool:
        """Tell whether the side wrote its last token, for which it has read all others."""
        return self._writers[-1:] == [side]

    def hand_over(self) -> None:
        """Note that another side writes from here on."""
        self._moved = bool(self._writers)

    def add(self, side: Side, step: int, tokens: int, now: float) -> None:
        """Add the next step, of so many tokens. The first one after a move records how long a reader has waited."""
        if not self._writers:
            self.first_s = now
        elif self._moved and side != self._writers[-1] and len(self.migrations) < MAX_MOVES:
            late_s = max(0.0, now - self.first_s - self.tokens / self._pace)
            self.migrations.append(Migration(step=self.tokens, source=self._writers[-1], target=side, late_s=late_s))
        self._moved = False
        self._steps_of += [len(self)] * tokens
        self._chain.append(step)
        self._writers.append(side)

    def position(self, now: float) -> Position:
        """Return the answer's position, once it has begun."""
        return Position(self.tokens, self._writers[-1], now - self.first_s)

    def outcome(self) -> DispatchOutcome:
        """Return the outcome that is reported to the reader."""
        writers = [self._writers[step] for step in self._steps_of]
        return DispatchOutcome(
            winner=writers[0] if writers else None,
            device_tokens=writers.count("device"),
            cloud_tokens=writers.count("cloud"),
            migrations=self.migrations,
        )

    def sources(self, side: Side, writer: OwnWriter, reported: PeerSources | None) -> Sourced:
        """Return where its tokens come from; `side` is this one, whose writer it is; `reported` is of the other."""
        traces = [Trace(float(self._writers[step] == "device"), writer.part(step)) for step in self._steps_of]
        passages = writer.passages if self.is_of("device") else []
        return sourced(side, passages, traces, by_token(reported, self._steps_of))
