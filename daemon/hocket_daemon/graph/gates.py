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
    """A test whether home is enough for a question."""

    def decide(self, question: str, found: Passages, lookups: Lookups, done: Callable[[GateDecision], None]) -> None:
        """Decide by what a search at home has found; `done` is called once, perhaps before this returns."""

    def close(self) -> None:
        """Stop: nobody waits any more."""


class EvidenceGate:
    """The gate `evidence`, which decides by the search alone."""

    def __init__(self, calibration: Calibration) -> None:
        self._calibration = calibration

    def decide(self, question: str, found: Passages, _: Lookups, done: Callable[[GateDecision], None]) -> None:
        """Decide at once."""
        done(decide(question, found, self._calibration))

    def close(self) -> None:
        """Do nothing, as nothing is in progress."""


class AnswersGate:
    """The gate `answers`, DGRAG's own: several answers are written at home first."""

    def __init__(self, services: Services, number: int) -> None:
        self._services, self._number = services, number
        self._candidates: Candidates | None = None

    def decide(self, question: str, found: Passages, lookups: Lookups, done: Callable[[GateDecision], None]) -> None:
        """Decide once the answers are written; where they cannot be, escalate the question."""

        def judged(outcome: GateDecision | HocketError) -> None:
            done(
                _escalate(f"no answers on this device: {outcome.text}") if isinstance(outcome, HocketError) else outcome
            )

        if not found.passages:
            done(_escalate("no documents on this device"))
            return
        self._candidates = Candidates(self._services, lookups, self._number, judged)
        self._candidates.start(question, found)

    def close(self) -> None:
        """Stop writing."""
        if self._candidates is not None:
            self._candidates.close()


def _escalate(reason: str) -> GateDecision:
    return GateDecision(decision="escalate", metric=0.0, threshold=THRESHOLD, reason=reason)
