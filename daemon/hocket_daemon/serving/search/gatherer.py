"""Passages from further away than the own documents, as a session asks for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from hocket_bus.errors import HocketError
from hocket_bus.messages import Passages

from ..mode import Peer

MAX_NOTICES = 16  # devices, and lines about them

Find = Callable[[Callable[[Passages | HocketError], None]], Callable[[], None]]  # tells what it found; returns its end


@dataclass(frozen=True, slots=True)
class Gathered:
    """What was found, which devices were taken to know more, best first, and what a reader should know of them."""

    passages: Passages
    matched: list[str]
    notices: list[str]


class Gatherer(Protocol):
    """Asks others of the asker's group."""

    def gather(
        self, peer: Peer, question: str, k: int, scorer: str, done: Callable[[Gathered | HocketError], None]
    ) -> Callable[[], None]:
        """The best `k` passages for a question of `peer`, by `scorer` where there is one: `done` gets them in time.

        What comes back ends it: nobody waits any more.
        """


def gathering(
    gatherer: Gatherer, peer: Peer, question: str, k: int, *, scorer: str, take: Callable[[Gathered], None]
) -> Find:
    """Look so for passages; `take` gets all that was gathered before they are told."""

    def find(done: Callable[[Passages | HocketError], None]) -> Callable[[], None]:
        def gathered(outcome: Gathered | HocketError) -> None:
            if isinstance(outcome, HocketError):
                done(outcome)
            else:
                take(outcome)
                done(outcome.passages)

        return gatherer.gather(peer, question, k, scorer, gathered)

    return find


def nothing() -> None:
    """What ends a search that has not begun."""
