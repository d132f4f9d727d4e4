"""A dispatched answer as its reader has it, and the gaps that a reader of an even pace meets."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hocket_bus.messages import DispatchOutcome, Done, Migration
from hocket_client import Client
from hocket_client.pace import Pace
from hocket_lab.bench.running.running import BenchPair


@dataclass(frozen=True)
class Timed:
    """An answer; `times_s` is when each token came, in seconds since the question."""

    done: Done
    times_s: list[float]

    @property
    def ids(self) -> list[int]:
        """The answer's tokens."""
        return self.done.token_ids

    @property
    def migrations(self) -> Sequence[Migration]:
        """The answer's moves."""
        assert isinstance(self.done.outcome, DispatchOutcome)
        return self.done.outcome.migrations


def ask(pair: BenchPair, client: Client, question: str, script: str, **options: Any) -> Timed:  # noqa: ANN401 - they are the client's
    """Read an answer, led by `script`, to its end, as it comes. Raises what ends it."""
    with pair.led(script):
        began_s = time.monotonic()
        stream = client.ask(question, mode="dispatch", **options)
        tokens = iter(stream)
        next(tokens)
        times_s = [time.monotonic() - began_s]
    times_s += [time.monotonic() - began_s for _ in tokens]
    return Timed(stream.result(), times_s)


def longest_gap_s(times_s: Sequence[float], pace: float) -> float:
    """Return the longest gap between two tokens, each handed out by the client's pace once it is there and due.

    It is 0 for one token.
    """
    handing = Pace(pace)
    handed_s = [now + handing.wait_s(now) for now in times_s]
    return max((after - before for before, after in pairwise(handed_s)), default=0.0)
