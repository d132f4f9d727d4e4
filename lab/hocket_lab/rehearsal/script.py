"""Dispatched answers that a script leads: who begins, and the tokens at which the writing begins to move to whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hocket_bus.errors import BadRequest
from hocket_bus.messages import Side
from hocket_daemon.dispatch.booking import UsageAccount
from hocket_daemon.dispatch.moves import MigrationPolicy, Position
from hocket_daemon.dispatch.policies.dispatcher import Decision
from hocket_daemon.dispatch.race import SIDES
from hocket_daemon.dispatch.strategy import Strategy
from hocket_daemon.dispatch.terms import Terms

_REMEDY = 'write it as "device,20:cloud,40:device": who begins, and at which tokens the answer begins to move to whom'


class Script(NamedTuple):
    """The side that begins, and the tokens at which the answer begins to move to a side, ascending."""

    first: Side
    moves: tuple[tuple[int, Side], ...] = ()


def parse(text: str) -> Script | None:
    """Return the script that a text describes, None for an empty one. Raises BadRequest for one that cannot be read."""
    if not text:
        return None
    first, *rest = text.split(",")
    moves = tuple(_move(part) for part in rest)
    steps = [step for step, _ in moves]
    if steps != sorted(set(steps)):
        raise BadRequest(f"the script '{text[:50]}' does not go forward", _REMEDY)
    return Script(_side(first), moves)


def scripted(script: Callable[[], str]) -> Strategy:
    """Return a strategy: answers go as `script` says when they begin, or by the product's own where it is empty.

    A script does not ask whether the budget allows it. One that gives an answer back to the cloud needs a trusted one.
    """

    def usage_account(terms: Terms, began_s: float) -> UsageAccount:
        plan = parse(script())
        return UsageAccount(terms, began_s) if plan is None else ScriptedUsageAccount(terms, began_s, plan)

    def migration_policy(terms: Terms, to_read: Callable[[Side], int]) -> MigrationPolicy:
        plan = parse(script())
        return MigrationPolicy(terms, to_read) if plan is None else ScriptedMigrationPolicy(terms, to_read, plan)

    return Strategy(usage_account, migration_policy)


class ScriptedUsageAccount(UsageAccount):
    """The books of an answer that one side begins."""

    def __init__(self, terms: Terms, began_s: float, script: Script) -> None:
        super().__init__(terms, began_s)
        self._first = script.first

    @property
    def cloud_starts_at_once(self) -> bool:
        """Tell whether the cloud is the side that begins."""
        return self._first == "cloud"

    def waits(self, decision: Decision) -> dict[Side, float]:  # noqa: ARG002 - whatever pays
        """Return a wait of zero for the side that begins, alone."""
        self.reason = "A script says who writes."
        return {self._first: 0.0}

    def may_read(self, side: Side, tokens: int) -> bool:  # noqa: ARG002 - whatever it costs
        """Tell whether a side may read: always the device, and the cloud unless all dollars are spent."""
        return side == "device" or self.limit is None


class ScriptedMigrationPolicy(MigrationPolicy):
    """The mover of an answer that moves where its script says."""

    def __init__(self, terms: Terms, to_read: Callable[[Side], int], script: Script) -> None:
        super().__init__(terms, to_read)
        self._script = script

    def target(self, at: Position) -> Side | None:
        """Return the side to move to now; None means to stay."""
        due = [side for step, side in self._script.moves if step <= at.tokens]
        return due[-1] if due and due[-1] != at.writer else None


def _move(text: str) -> tuple[int, Side]:
    step, _, side = text.partition(":")
    if not step.isdigit() or int(step) < 1:
        raise BadRequest(f"'{step[:50]}' is no token of an answer", _REMEDY)
    return int(step), _side(side)


def _side(text: str) -> Side:
    for side in SIDES:
        if text == side:
            return side
    raise BadRequest(f"'{text[:50]}' is no side", _REMEDY)
