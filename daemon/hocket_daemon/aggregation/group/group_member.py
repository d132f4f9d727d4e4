"""The state of one member of a session for the asked device: asked, reading, taking part, out for now, gone. Pure.

Events go in with the time they happened at, on the monotonic clock. It knows nothing of sockets, drafts or clocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal

from ..partner import RETRY_S
from ..patience import REPORT_S

State = Literal["asked", "reading", "present", "out", "gone"]


@dataclass(frozen=True, slots=True)
class Patience:
    """The seconds that a step waits: for a draft beyond a round trip, and at most for who reports progress."""

    step_s: float
    longest_s: float


class GroupMember:
    """The relation of one answer to one member, which is asked when this is created."""

    def __init__(self, patience: Patience, rtt_s: float, now: float) -> None:
        self.state: State = "asked"
        self.rtt_s = rtt_s
        self._patience = patience
        self._is_asked = True  # and has not read since
        self._by_s = now + rtt_s + patience.step_s  # a sign of life, the first draft, or the next one
        self._progress_s = inf  # when it first reported progress on what is waited for
        self._lacks: int | None = None  # the step whose draft is waited for
        self._retry_at_s = inf
        self._retry_s = RETRY_S[0]

    @property
    def awaited(self) -> bool:
        """Tell whether the next step waits for the member."""
        return self.state in ("asked", "reading", "present")

    @property
    def due_s(self) -> float:
        """The time when `tick` is next needed."""
        return min(self._by_s, self._retry_at_s)

    def on_sign(self, now: float) -> None:
        """Note that the member takes part, and reads."""
        if self.state == "asked":
            self.state = "reading"
            self.on_progress(now)

    def on_progress(self, now: float) -> None:
        """Note progress on what is waited for: wait until a report is missing, or the wait was long enough."""
        if self.state == "reading" or (self.state == "present" and self._lacks is not None):
            self._progress_s = min(self._progress_s, now)
            next_report_s = now + 2 * REPORT_S + self.rtt_s + self._patience.step_s
            self._by_s = min(next_report_s, self._progress_s + self._patience.longest_s)

    def on_asked(self) -> None:
        """Note that the member was asked anew, where the answer is."""
        self._is_asked, self._progress_s = True, inf

    def on_ready(self) -> None:
        """Note that the member has read, and is where the answer is or will be: the next step waits for its draft.

        This counts once for each time that it was asked: a member that repeats it is waited for no more often.
        """
        if self.state != "gone" and self._is_asked:
            self._is_asked = False
            self.state, self._by_s, self._retry_at_s, self._lacks = "present", inf, inf, None

    def on_lacking(self, now: float, step: int | None) -> None:
        """Note the next step where it lacks only the member's draft, or None; called whenever that may have changed.

        Each step is waited for anew. Whoever is the last at every step, being slow or far away, answers all the same.
        """
        if self.state == "present" and step != self._lacks:
            self._lacks, self._progress_s = step, inf
            self._by_s = inf if step is None else now + self.rtt_s + self._patience.step_s

    def on_lost(self, now: float, retry_after_s: float | None = None) -> None:
        """Note that the member cannot be reached, or is busy for `retry_after_s` seconds: it is asked anew then."""
        if self.state != "gone":
            self.state, self._by_s = "out", inf
            self._back_off(now, retry_after_s)

    def on_gone(self) -> None:
        """Note that the member takes no part in this answer any more."""
        self.state, self._by_s, self._retry_at_s = "gone", inf, inf

    def tick(self, now: float) -> Literal["late", "ask anew"] | None:
        """Act on what has not come in time."""
        if now >= self._by_s:
            self.state, self._by_s = "out", inf
            self._back_off(now)
            return "late"
        if now >= self._retry_at_s:
            self._back_off(now)
            return "ask anew"
        return None

    def _back_off(self, now: float, retry_after_s: float | None = None) -> None:
        self._retry_at_s = now + (self._retry_s if retry_after_s is None else retry_after_s)
        self._retry_s = min(RETRY_S[1], 2 * self._retry_s)
