"""The race for an answer's first token, moves from side to side, and what follows when a side fails.

A pure state machine. Events go in with the time they happened at; actions come out, to be carried out in their order.
Whether a move pays is decided elsewhere. It knows nothing of sockets, models, costs or clocks.

At every time at most one side's tokens are taken. A side is told to hold the moment another one writes, and what it
says from then on is ignored; so nothing is doubled or lost, whoever fails and whenever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Literal

from hocket_bus.errors import HocketError
from hocket_bus.messages import Side, other

FIRST_S = 10.0  # without a first token, until the side that was to wait is asked, too
STALL_S = 5.0  # without a token of the writer, until the other side goes on
MOVE_S = 10.0  # for a side to read what another one has written, until the move is given up

SIDES: tuple[Side, Side] = ("device", "cloud")


@dataclass(frozen=True, slots=True)
class Begin:
    """Have this side read the prompt, and write from the first token on."""

    side: Side


@dataclass(frozen=True, slots=True)
class Hold:
    """Have this side stop; what it has read stays while there is room."""

    side: Side


@dataclass(frozen=True, slots=True)
class StandBy:
    """Have this side read all tokens so far, and wait."""

    side: Side


@dataclass(frozen=True, slots=True)
class Write:
    """Have this side go on after all tokens so far."""

    side: Side


@dataclass(frozen=True, slots=True)
class Notify:
    """Tell the reader."""

    text: str


@dataclass(frozen=True, slots=True)
class Fail:
    """End the answer with an error, as no side can go on."""

    error: HocketError


Action = Begin | Hold | StandBy | Write | Notify | Fail
State = Literal["idle", "asked", "gone"]


class Race:
    """The course of one answer between two sides. Times are the monotonic clock's."""

    def __init__(self, sides: tuple[Side, ...] = SIDES) -> None:
        """Begin; `sides` are those that may write at all."""
        self.writer: Side | None = None
        self.winner: Side | None = None
        self.moving: Side | None = None  # whither the answer is on its way
        self._states: dict[Side, State] = {side: "idle" if side in sides else "gone" for side in SIDES}
        self._starts_s: dict[Side, float] = dict.fromkeys(SIDES, inf)
        self._expect_s = inf  # the next token, at the latest
        self._move_until_s = inf

    @property
    def due_s(self) -> float:
        """The time when `tick` is next needed."""
        idle = [side for side in SIDES if self._states[side] == "idle"] if self.writer is None else []
        return min(self._expect_s, self._move_until_s, *(self._starts_s[side] for side in idle))

    def may_write(self, side: Side) -> bool:
        """Tell whether the side has not failed."""
        return self._states[side] != "gone"

    def takes(self, side: Side) -> bool:
        """Tell whether the next token may be this side's: it writes, or nobody does yet and it was asked."""
        return self.writer == side or (self.writer is None and self._states[side] == "asked")

    def is_alone(self, side: Side) -> bool:
        """Tell whether the side was asked for the first token, and no other one may give it earlier as things stand."""
        spare = other(side)
        idles = self._states[spare] == "idle" and self._starts_s[spare] == inf
        return self._states[side] == "asked" and (idles or self._states[spare] == "gone")

    # --- events

    def start(self, now: float, starts_s: Mapping[Side, float]) -> list[Action]:
        """Set the times at which each side is to begin, unless another one writes by then; a later call overrides.

        Where none is to begin ever, one begins at once.
        """
        self._starts_s |= starts_s
        if min(self._starts_s.values()) == inf and "asked" not in self._states.values():
            idle = [side for side in SIDES if self._states[side] == "idle"]
            return self._begin(idle[0], now) if idle else []
        return self.tick(now)

    def tick(self, now: float) -> list[Action]:
        """Act on what has not come in time."""
        actions: list[Action] = []
        if self.writer is None:
            actions += self._begin_due(now)
        if now >= self._move_until_s:
            actions += self._give_up_move()
        if now >= self._expect_s:
            actions += self._late(now)
        return actions

    def token(self, side: Side, now: float) -> tuple[bool, list[Action]]:
        """Take a side's next token; return whether it is the answer's, and what follows."""
        actions: list[Action] = []
        if self.writer is None and self._states[side] == "asked":
            self.writer = side
            self.winner = self.winner or side
            if self._states[other(side)] == "asked":
                actions.append(Hold(other(side)))
        if side != self.writer:
            return False, actions
        self._expect_s = now + STALL_S
        return True, actions

    def thinks(self, side: Side, now: float) -> None:
        """Note that a side to which the question is addressed thinks before its first token: it is not late."""
        if self.writer is None and self._states[side] == "asked":
            self._expect_s = now + FIRST_S

    def move(self, target: Side, now: float, *, waits: bool) -> list[Action]:
        """Move the answer to `target`; `waits`: the writer stops at once, instead of writing on meanwhile."""
        if self.writer in (None, target) or self.moving is not None or not self.may_write(target):
            return []
        if waits:
            return self._hand_over(target, now)
        self._states[target], self.moving, self._move_until_s = "asked", target, now + MOVE_S
        return [StandBy(target)]

    def ready(self, side: Side, now: float) -> list[Action]:
        """Handle that the side has read what it was told to read."""
        return self._hand_over(side, now) if side == self.moving else []

    def gone(self, side: Side, error: HocketError, now: float) -> list[Action]:
        """Handle that the side cannot go on."""
        if self._states[side] == "gone":
            return []
        self._states[side] = "gone"
        if side == self.moving:
            self.moving, self._move_until_s = None, inf
        remaining = other(side)
        if self._states[remaining] == "gone":
            return [Fail(error)] if self.writer in (None, side) else []
        if side == self.writer:
            self.moving, self._move_until_s = None, inf
            return [Notify(_notice_of(error, remaining)), *self._hand_over(remaining, now)]
        if self.writer is None:
            return [Notify(_notice_of(error, remaining)), *self._begin(remaining, now)]
        return []

    def back(self, side: Side) -> None:
        """Let a side that was gone write again, if it pays."""
        if self._states[side] == "gone":
            self._states[side] = "idle"

    # --- what follows

    def _begin_due(self, now: float) -> list[Action]:
        due = [side for side in SIDES if now >= self._starts_s[side] and self._states[side] == "idle"]
        return [action for side in due for action in self._begin(side, now)]

    def _begin(self, side: Side, now: float) -> list[Action]:
        if self._states[side] != "idle":
            return []
        self._states[side], self._starts_s[side] = "asked", inf
        self._expect_s = now + FIRST_S
        return [Begin(side)]

    def _late(self, now: float) -> list[Action]:
        """Go on with another side: nobody waits for ever for one that says nothing."""
        self._expect_s = now + FIRST_S
        if self.writer is not None:
            spare = other(self.writer)
            if not self.may_write(spare):
                return []
            self.moving, self._move_until_s = None, inf
            return [Notify(f"the {self.writer} is late; the {spare} continues"), *self._hand_over(spare, now)]
        idle = [side for side in SIDES if self._states[side] == "idle"]
        return [action for side in idle for action in self._begin(side, now)]

    def _give_up_move(self) -> list[Action]:
        target, self.moving, self._move_until_s = self.moving, None, inf
        return [Hold(target)] if target is not None else []

    def _hand_over(self, target: Side, now: float) -> list[Action]:
        source = self.writer
        held: list[Action] = [Hold(source)] if source is not None and self.may_write(source) else []
        self.writer, self._states[target], self.moving, self._move_until_s = target, "asked", None, inf
        self._expect_s = now + STALL_S + MOVE_S
        return [*held, Write(target)]


def together(first: list[Action], then: list[Action]) -> list[Action]:
    """Join the actions; a side that is to stand need not be told to hold before."""
    standing_by = {action.side for action in then if isinstance(action, StandBy)}
    return [action for action in first if not (isinstance(action, Hold) and action.side in standing_by)] + then


def _notice_of(error: HocketError, remaining: Side) -> str:
    return f"{error}; the {remaining} continues" if error.text else f"the {remaining} continues"
