"""Bounds on what a member's drafts disclose of its documents: in bits beyond the question alone, and in bits a day.

The most that a draft can disclose is charged before it leaves. Documents that have used up their bits for today are
left out of it; a member that has none left takes no part any more.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from hocket_bus.errors import Forbidden

from ..engine.sampling.bounded import Bounded, bounded
from ..engine.sampling.heads import Contrast, Heads, Made
from ..privacy.budget import PrivacyBudget

TOLD_ALL = Forbidden(
    "its documents have reached today's disclosure limit", "raise bits_a_day under [group] there, or ask tomorrow"
)


@dataclass(frozen=True, slots=True)
class Disclosure:
    """The bounds of a device, for all sessions that others lead."""

    most_bits: float
    budget: PrivacyBudget | None

    def session(self) -> SessionDisclosure:
        """Return the bounds for one session."""
        return SessionDisclosure(self.most_bits, self.budget)


class SessionDisclosure:
    """The disclosure of one session's drafts. `made` is called on the compute thread, `confirm` on the main thread."""

    def __init__(self, most_bits: float, budget: PrivacyBudget | None) -> None:
        self._bits, self._budget = most_bits, budget
        self._lock = threading.Lock()
        self._charged: dict[int, tuple[str, Bounded]] = {}  # by step, with the day: of drafts not confirmed

    def made(
        self,
        step: int,
        heads: Heads,
        weights: list[float],
        documents: Sequence[str],
        *,
        wire_mass: float,
        contrast: Contrast | None,
    ) -> Made:
        """Make a draft as `made` of heads.py does, within the bounds; the last row has read the question alone.

        `documents` names the documents of all rows but the last. Raises Forbidden where none may disclose anything any
        more, and Unavailable where the charge cannot be written down.
        """
        names = list(documents)
        while True:
            found = bounded(heads, weights, names, wire_mass=wire_mass, bits=self._bits, contrast=contrast)
            if self._budget is None or not names:
                return found.made
            charge = self._budget.charge(found.most())
            if not charge.refused:
                with self._lock:
                    self._charged[step] = charge.day, found
                return found.made
            kept = [at for at, name in enumerate(names) if name not in charge.refused]
            if not kept:
                raise TOLD_ALL
            heads, weights = heads.of_rows([*kept, len(names)]), _shares([weights[at] for at in kept])
            names = [names[at] for at in kept]

    def confirm(self, step: int, token: int) -> None:
        """Give back what the draft of `step` was charged beyond what the answer's `token` discloses."""
        with self._lock:
            day, found = self._charged.pop(step, ("", None))
        if self._budget is not None and found is not None:
            moved = found.moved(token)
            self._budget.refund(day, {name: most - moved[name] for name, most in found.most().items()})


def _shares(weights: Sequence[float]) -> list[float]:
    total = sum(weights)
    return [weight / total for weight in weights] if total > 0 else [1 / len(weights)] * len(weights)
