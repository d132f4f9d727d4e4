"""Passages from beyond this side's own documents, as a session asks for them."""

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
    """The passages found, the devices taken to know more, best first, and notices for the reader."""

    passages: Passages
    matched: list[str]
    notices: list[str]


class Gatherer(Protocol):
    """A search that also asks the other devices of the client's group."""

    def gather(
        self, peer: Peer, question: str, k: int, scorer: str, done: Callable[[Gathered | HocketError], None]
    ) -> Callable[[], None]:
        """Find the best `k` passages for a question of `peer`, by `scorer` if given: `done` gets them in time.

        Returns a function that ends the search, for when nobody waits any more.
        """


def gathering(
    gatherer: Gatherer, peer: Peer, question: str, k: int, *, scorer: str, take: Callable[[Gathered], None]
) -> Find:
    """Return a Find that gathers so; `take` gets the whole result before the passages are handed on."""

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
    """Do nothing: the end of a search that has not begun."""
