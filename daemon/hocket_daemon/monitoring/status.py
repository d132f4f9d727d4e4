"""How a daemon is, in lines for people and in numbers for programs: put together from its parts.

Who asks over tcp is told of the machine and of what is its own; who reaches the daemon's own socket is told all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")
Facts = Mapping[str, str]
Metrics = Mapping[str, float]


class StatusBoard:
    """Each part of a daemon adds what it knows; all are asked at every look."""

    def __init__(self) -> None:
        self._facts: list[Callable[[str], Facts]] = []
        self._metrics: list[Callable[[str], Metrics]] = []

    def add(self, *, facts: Sequence[Callable[[], Facts]] = (), metrics: Sequence[Callable[[], Metrics]] = ()) -> None:
        """Show these, too, behind those added before; they are about everybody's requests, and told to no user."""
        self._facts += map(_for_nobody, facts)
        self._metrics += map(_for_nobody, metrics)

    def add_for_users(
        self, *, facts: Sequence[Callable[[str], Facts]] = (), metrics: Sequence[Callable[[str], Metrics]] = ()
    ) -> None:
        """The same for what is told to a user of its own; to "" of all."""
        self._facts += facts
        self._metrics += metrics

    def facts(self, user: str = "") -> dict[str, str]:
        """Name and value, in order, as the user may know them."""
        return {name: value for part in self._facts for name, value in part(user).items()}

    def metrics(self, user: str = "") -> dict[str, float]:
        """The same for programs."""
        return {name: value for part in self._metrics for name, value in part(user).items()}


def _for_nobody(part: Callable[[], Mapping[str, T]]) -> Callable[[str], Mapping[str, T]]:
    return lambda user: {} if user else part()
