"""The relation of the asked side to the other one: waiting, together, alone, rejoining. A pure state machine.

Events go in with the time they happened at; actions come out, for the leader to carry out in their order. It knows
nothing of sockets, drafts or clocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from hocket_bus.errors import Forbidden, HocketError, ProtocolError, Unavailable

RETRY_S = (2.0, 30.0)  # between two attempts to rejoin: the first, and the longest


@dataclass(frozen=True, slots=True)
class Waits:
    """The seconds that the asked side waits: for a connection, for a draft, and for the first after a break.

    A draft is waited for longer while the other side reports progress.
    """

    connect_s: float
    peer_s: float
    rejoin_s: float


@dataclass(frozen=True, slots=True)
class Join:
    """Ask the other side to take part, and send what was drafted already."""


@dataclass(frozen=True, slots=True)
class Rejoin:
    """Open the session with the other side again, under a new epoch, at the prefix (R6)."""


@dataclass(frozen=True, slots=True)
class GoAlone:
    """Draw from the own distribution until a rejoin is answered (R6)."""


@dataclass(frozen=True, slots=True)
class Leave:
    """Tell the other side that it is needed no more, for the rest of this answer."""

    reason: str


@dataclass(frozen=True, slots=True)
class Warn:
    """Tell the reader."""

    text: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """End the answer, which cannot go on."""

    error: HocketError


Action = Join | Rejoin | GoAlone | Leave | Warn | GiveUp


class Partner:
    """The relation of one answer to the other side. Times are the monotonic clock's."""

    def __init__(self, waits: Waits, *, exists: bool, required: bool, remedy: str) -> None:
        """Begin; `exists`: there is another side; `required`: better no answer than one without it.

        `remedy` says what to do where it is required and does not exist.
        """
        self.exists = exists
        self.joined = False  # it has been asked to take part
        self.alone = False
        self.rejoining = False  # it has answered, and no token of both has come yet
        self._waits = waits
        self._required = required
        self._remedy = remedy
        self._reason: HocketError | None = None
        self._wait_until_s = inf  # for it: to connect, to draft, to draft again after a break
        self._progress_s = inf  # when it first reported progress on what is waited for
        self._read: float | None = None  # the part of its prompt that it has read, as long as it reads
        self._rejoin_at_s = inf
        self._retry_s = RETRY_S[0]

    @property
    def together(self) -> bool:
        """Tell whether the other side takes part."""
        return self.joined and not self.alone

    @property
    def due_s(self) -> float:
        """The time when `tick` is next needed."""
        return min(self._wait_until_s, self._rejoin_at_s)

    def start(self, now: float, up: bool, reason: HocketError | None) -> list[Action]:
        """Join the other side when it is there, wait a little when it is not, or be alone by choice."""
        if not self.exists:
            if self._required and self._remedy:
                return [GiveUp(Unavailable("this device has no cloud configured", self._remedy))]
            self.alone = True
            return [GoAlone()]
        if up:
            return self._join(now)
        self._wait_until_s = now + self._waits.connect_s
        return self.on_down(now, reason) if reason is not None else []

    def on_up(self, now: float) -> list[Action]:
        """Join the other side, which can be reached, or rejoin it at the prefix."""
        if not self.exists or self.together:
            return []
        if not (self.joined or self.alone):
            return self._join(now)
        self.joined = True
        return self._rejoin(now)

    def on_moved(self, now: float, reason: HocketError) -> list[Action]:
        """Rejoin another daemon in the other side's place, for this reason; wait for it as at an answer's beginning."""
        if not self.together:
            return self.on_up(now)
        self._expect(now)
        return [Warn(f"{reason.text}; continuing with another cloud daemon"), Rejoin()] if self.exists else []

    def on_down(self, now: float, reason: HocketError) -> list[Action]:  # noqa: ARG002 - all events have their time
        """Handle a link that is silent or refuses us; before the other side has joined, silence may end in time."""
        self._reason = reason
        if not self.exists or self.alone:
            return []
        if self.joined or isinstance(reason, ProtocolError | Forbidden):
            return self._go_alone(reason.text, reason.remedy)
        return []

    def on_refused(self, now: float, text: str, remedy: str, retry_after_s: float) -> list[Action]:
        """Handle that the other side cannot take part; not before `retry_after_s` seconds, or never for 0."""
        self._rejoin_at_s = now + retry_after_s if retry_after_s else inf
        return [] if self.alone else self._go_alone(f"the cloud cannot take part: {text}", remedy)

    def on_step(self, now: float, *, alone: bool, progress: bool) -> None:
        """Handle a message of the other side; `alone` is whether the tokens are still drawn without it.

        `progress` is whether the message led to tokens, or to nothing that this side waits for: drafts that lead
        nowhere are as good as none.
        """
        if self.alone and not alone:
            self.alone, self.rejoining, self._rejoin_at_s = False, True, inf
            self._expect(now)
        elif not (self.alone or self.rejoining) and progress:
            self._expect(now)

    def on_progress(self, now: float, read: float, longest_s: float) -> None:
        """Handle a report of work: the other side has read the part `read`, and is waited for, `longest_s` at most.

        While this side is alone it is not asked again either: who reads joins when it has read.
        """
        if read < 1:
            self._read = read
        if self.alone:
            self._rejoin_at_s = max(self._rejoin_at_s, now + self._waits.peer_s)
        elif self.joined:
            self._progress_s = min(self._progress_s, now)
            bound_s = inf if self._required else self._progress_s + longest_s
            self._wait_until_s = min(max(self._wait_until_s, now + self._waits.peer_s), bound_s)

    def on_ready(self, now: float) -> list[Action]:
        """Handle that the other side has read: where this side went on alone meanwhile, rejoin it at the prefix."""
        was_reading, self._read = self._read is not None, None
        return self._rejoin(now) if was_reading and self.alone and self.joined and self.exists else []

    def on_joint_token(self, now: float) -> list[Action]:
        """Handle that a token of both sides was confirmed."""
        if not self.rejoining:
            return []
        self.rejoining, self._retry_s = False, RETRY_S[0]
        self._expect(now)
        return [Warn("the cloud is back: answering together again")]

    def leave(self, reason: str, text: str, remedy: str) -> list[Action]:
        """Do without the other side for the rest of this answer; the reader is told why."""
        return [*self.part(reason), *self._go_alone(text, remedy)]

    def part(self, reason: str) -> list[Action]:
        """Let the other side go."""
        self.exists, self._rejoin_at_s = False, inf
        return [Leave(reason)]

    def mute(self) -> None:
        """Send nothing to the other side any more."""
        self.joined = False

    def tick(self, now: float, *, awaited: bool) -> list[Action]:
        """Act on what has not come in time; `awaited` is whether the next step lacks nothing but its draft."""
        if now >= self._wait_until_s:
            return self._on_wait_over(now, awaited)
        return self._rejoin(now) if now >= self._rejoin_at_s else []

    def _on_wait_over(self, now: float, awaited: bool) -> list[Action]:
        self._wait_until_s = inf
        if not self.joined:
            reason = self._reason or Unavailable("the cloud is not connected", "check that its daemon is running")
            return self._go_alone(reason.text, reason.remedy)
        if awaited:
            self._retry_s = min(RETRY_S[1], self._retry_s * 2)
            self._rejoin_at_s = now + self._retry_s
            return self._go_alone(self._late(now), "")
        self._expect(now)
        return []

    def _late(self, now: float) -> str:
        if self._read is None or self._progress_s == inf:
            return "the cloud is late"
        return f"the cloud is still reading after {now - self._progress_s:.0f} s ({self._read:.0%})"

    def _join(self, now: float) -> list[Action]:
        self.joined = True
        self._expect(now)
        return [Join()]

    def _rejoin(self, now: float) -> list[Action]:
        self._read = None  # it says so again where it still reads
        self._rejoin_at_s = now + self._retry_s  # unless it answers or refuses
        self._retry_s = min(RETRY_S[1], self._retry_s * 2)
        return [Rejoin()]

    def _expect(self, now: float) -> None:
        self._progress_s = inf
        if self.exists:
            self._wait_until_s = now + (self._waits.rejoin_s if self.rejoining else self._waits.peer_s)

    def _go_alone(self, text: str, remedy: str) -> list[Action]:
        if self._required:
            return [GiveUp(Unavailable(text, remedy or "ask without --require-cloud to let this side answer alone"))]
        self._wait_until_s, self.rejoining, self.alone = inf, False, True
        return [Warn(f"{text}{': ' + remedy if remedy else ''}; answering alone"), GoAlone()]
