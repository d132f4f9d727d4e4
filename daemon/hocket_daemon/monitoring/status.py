"""The state of a daemon, in lines for people and in numbers for programs: put together from its parts.

A client over tcp is told of the machine and of what is its own; one at the daemon's own socket is told all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")
Facts = Mapping[str, str]
Metrics = Mapping[str, float]


class StatusBoard:
    """The reports of all parts of a daemon; every part is asked at each look."""

    def __init__(self) -> None:
        self._facts: list[Callable[[str], Facts]] = []
        self._metrics: list[Callable[[str], Metrics]] = []

    def add(self, *, facts: Sequence[Callable[[], Facts]] = (), metrics: Sequence[Callable[[], Metrics]] = ()) -> None:
        """Add reports, shown after those added before; they are about everybody's requests, so no user gets them."""
        self._facts += map(_for_nobody, facts)
        self._metrics += map(_for_nobody, metrics)

    def add_for_users(
        self, *, facts: Sequence[Callable[[str], Facts]] = (), metrics: Sequence[Callable[[str], Metrics]] = ()
    ) -> None:
        """Add reports that a user gets about its own requests, and the user "" about all."""
        self._facts += facts
        self._metrics += metrics

    def facts(self, user: str = "") -> dict[str, str]:
        """Return names and values, in order, as the user may know them."""
        return {name: value for part in self._facts for name, value in part(user).items()}

    def metrics(self, user: str = "") -> dict[str, float]:
        """Return the same facts as numbers, for programs."""
        return {name: value for part in self._metrics for name, value in part(user).items()}


def _for_nobody(part: Callable[[], Mapping[str, T]]) -> Callable[[str], Mapping[str, T]]:
    return lambda user: {} if user else part()
