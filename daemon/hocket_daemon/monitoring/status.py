"""How a daemon is, in lines for people and in numbers for programs: put together from its parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

Facts = Mapping[str, str]
Metrics = Mapping[str, float]


class StatusBoard:
    """Each part of a daemon adds what it knows; all are asked at every look."""

    def __init__(self) -> None:
        self._facts: list[Callable[[], Facts]] = []
        self._metrics: list[Callable[[], Metrics]] = []

    def add(self, *, facts: Sequence[Callable[[], Facts]] = (), metrics: Sequence[Callable[[], Metrics]] = ()) -> None:
        """Show these, too, behind those that were added before."""
        self._facts += facts
        self._metrics += metrics

    def facts(self) -> dict[str, str]:
        """Name and value, in order."""
        return {name: value for part in self._facts for name, value in part().items()}

    def metrics(self) -> dict[str, float]:
        """The same for programs."""
        return {name: value for part in self._metrics for name, value in part().items()}
