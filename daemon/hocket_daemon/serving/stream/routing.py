"""The way that a question went, and why, as its reader is told at the end."""

from __future__ import annotations

from collections.abc import Sequence

from hocket_bus.messages import AggregationOutcome, DispatchOutcome, GateDecision, Outcome, Routing

MAX_NOTICES = 64  # lines of the other side's that a reader is told


class Notices:
    """The notices of the other side for a reader: each line once, and a limited number of lines."""

    def __init__(self) -> None:
        self._lines: set[str] = set()

    def new(self, lines: Sequence[str]) -> list[str]:
        """Return the lines that are new and are to be shown."""
        news = [line for line in dict.fromkeys(lines) if line not in self._lines]
        news = news[: MAX_NOTICES - len(self._lines)]
        self._lines.update(news)
        return news


class Route:
    """The way of one question: it begins with what was decided; devices that the other side names are added."""

    def __init__(self, gate: GateDecision | None, *, home: bool, why: str) -> None:
        """Begin with the decision; `home` says whether the question stays at home."""
        self._gate, self._home, self._why = gate, home, why
        self._matched: list[str] = []
        self._named = False

    def found(self, names: Sequence[str], *, named: bool = False) -> None:
        """Add devices that may know more, best first; `named` says that the client has chosen them."""
        self._named = self._named or named
        self._matched = list(dict.fromkeys([*self._matched, *names]))

    def routing(self, outcome: Outcome | None) -> Routing:
        """Return the routing at the end of the answer; `outcome` is how its sides wrote it."""
        if self._home or _is_alone(outcome):
            why = self._why if self._home else f"{self._why}; the cloud took no part, so this device answered alone"
            return Routing(way="home", why=why, matched=self._matched, gate=self._gate)
        if self._matched:
            best = f"{self._matched[0]}'s summaries match best"
            why = f"{self._why}; {'named: ' + ', '.join(self._matched) if self._named else best}"
            return Routing(way="devices", why=why, matched=self._matched, gate=self._gate)
        return Routing(way="pair", why=f"{self._why}; no other device's summaries match", gate=self._gate)


def _is_alone(outcome: Outcome | None) -> bool:
    """Tell whether the cloud wrote none of the answer."""
    if isinstance(outcome, DispatchOutcome):
        return outcome.cloud_tokens == 0
    return isinstance(outcome, AggregationOutcome) and outcome.method == "alone"
