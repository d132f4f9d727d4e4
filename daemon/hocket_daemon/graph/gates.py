"""The two gates by name, as `auto` asks them: each decides once, for one question."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from hocket_bus.errors import HocketError
from hocket_bus.messages import GateDecision, Passages

from ..serving.search.retrieval import Lookups
from ..serving.services import Services
from .answers import THRESHOLD
from .candidates import Candidates
from .gate import Calibration, decide


class Gate(Protocol):
    """Whether home is enough."""

    def decide(self, question: str, found: Passages, lookups: Lookups, done: Callable[[GateDecision], None]) -> None:
        """By what a search at home has found; `done` is called once, perhaps before this returns."""

    def close(self) -> None:
        """Nobody waits any more."""


class EvidenceGate:
    """From the search alone."""

    def __init__(self, calibration: Calibration) -> None:
        self._calibration = calibration

    def decide(self, question: str, found: Passages, _: Lookups, done: Callable[[GateDecision], None]) -> None:
        """At once."""
        done(decide(question, found, self._calibration))

    def close(self) -> None:
        """Nothing is under way."""


class AnswersGate:
    """DGRAG's: several answers are written at home first."""

    def __init__(self, services: Services, number: int) -> None:
        self._services, self._number = services, number
        self._candidates: Candidates | None = None

    def decide(self, question: str, found: Passages, lookups: Lookups, done: Callable[[GateDecision], None]) -> None:
        """When they are written; where they cannot be, the question goes on."""

        def judged(outcome: GateDecision | HocketError) -> None:
            done(_escalate(f"no answers at home: {outcome.text}") if isinstance(outcome, HocketError) else outcome)

        if not found.passages:
            done(_escalate("no documents at home"))
            return
        self._candidates = Candidates(self._services, lookups, self._number, judged)
        self._candidates.start(question, found)

    def close(self) -> None:
        """Stop writing."""
        if self._candidates is not None:
            self._candidates.close()


def _escalate(reason: str) -> GateDecision:
    return GateDecision(decision="escalate", metric=0.0, threshold=THRESHOLD, reason=reason)
