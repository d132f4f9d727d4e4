"""The rows of one text on one side, as the main thread sees them: read, decoded after any tokens, and freed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from hocket_bus.errors import HocketError

from ..preemption import Interrupt, Preempted
from ..sampling.heads import Heads
from ..sampling.step_rows import ALL, StepRows
from .compute import Compute, Decoded, DecodeRequest
from .sequences import Prefill, SequenceGroup, metered

T = TypeVar("T")
Read: TypeAlias = Callable[[SequenceGroup | HocketError], None]


def _uncounted(_: int) -> None:
    """Ignore the number of tokens."""


class Grounded:
    """A prompt's rows for one owner, called back on the main thread, but never for what it interrupted in time."""

    def __init__(self, compute: Compute, seen: Callable[[int], None] = _uncounted) -> None:
        """Create it without rows; on the compute thread `seen` gets the tokens, of all rows, that a pass has read."""
        self._compute = compute
        self._seen = seen
        self._reading = Interrupt()
        self._group: SequenceGroup | None = None
        self._behind = list[int]()  # of each row the tokens behind which it was decoded last
        self._decoding: Interrupt | None = None
        self._closed = False

    @property
    def has_read(self) -> bool:
        """Tell whether the prompt is read."""
        return self._group is not None

    @property
    def length(self) -> int:
        """Tokens in the longest row of a prompt that is read."""
        assert self._group is not None
        return self._group.length

    def read(self, passes: Prefill[SequenceGroup], done: Read) -> None:
        """Read a prompt into rows; `done` gets the first that is read, or an error."""
        self._reading = Interrupt()

        def read(outcome: SequenceGroup | HocketError | Preempted) -> None:
            if isinstance(outcome, SequenceGroup):
                self._take(outcome, done)
            elif isinstance(outcome, HocketError) and not self._closed:
                done(outcome)

        self._compute.prefill(metered(passes, self._seen), self._reading, read)

    def give_up(self) -> None:
        """Stop reading; a prompt that is fully read before the compute thread heeds this is taken all the same."""
        self._reading.set()

    def decode(
        self,
        tokens: Sequence[int],
        then: Callable[[Heads], T],
        done: Callable[[Decoded[T] | HocketError, float], None],
        *,
        rows: StepRows = ALL,
    ) -> Interrupt:
        """Decode `rows` after `tokens`; `done` gets the outcome, and the seconds that its step took.

        Where more tokens are missing than a part of a prompt has, they are read in parts first, beside others. The
        returned interrupt stops it.
        """
        group, ids, interrupt = self._group, list(tokens), Interrupt()
        assert group is not None
        self._decoding = interrupt
        wanted = group.places(rows.places)
        every = [*wanted, *rows.later]

        def decode() -> None:
            began_s = time.monotonic()

            def decoded(outcome: Decoded[T] | HocketError | Preempted) -> None:
                if not isinstance(outcome, Preempted):
                    for place in wanted:
                        self._behind[place] = len(ids)
                    done(outcome, time.monotonic() - began_s)

            self._compute.decode(DecodeRequest(group, ids, then, interrupt, rows), decoded)

        def caught_up(outcome: HocketError | Preempted | None) -> None:
            if outcome is None:
                for place in every:
                    self._behind[place] = len(ids)
                decode()
            elif isinstance(outcome, HocketError):
                done(outcome, 0.0)

        if sum(max(0, len(ids) - self._behind[place]) for place in every) <= group.model.prefill_tokens:
            decode()
        else:  # it has joined, or goes on, in the middle of an answer, or a row was left out for long
            self._compute.prefill(metered(group.catch_up(ids, every), self._seen), interrupt, caught_up)
        return interrupt

    def close(self) -> None:
        """Free the rows, after whatever the compute thread still does with them."""
        self._closed = True
        self._reading.set()
        if self._decoding is not None:
            self._decoding.set()
        if self._group is not None:
            self._free(self._group)
            self._group = None

    def _take(self, group: SequenceGroup, done: Read) -> None:
        if self._closed or self._group is not None:  # the second: given up, and read again before that was heeded
            self._free(group)
        else:
            self._group, self._behind = group, [0] * len(group.rows)
            done(group)

    def _free(self, group: SequenceGroup) -> None:
        self._compute.run(group.close, lambda _: None)
