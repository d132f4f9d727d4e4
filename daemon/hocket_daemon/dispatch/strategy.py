"""The strategy for an answer: what keeps its books and decides who begins, and what decides whether it moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hocket_bus.messages import Side

from .booking import UsageAccount
from .moves import MigrationPolicy
from .terms import Terms


@dataclass(frozen=True, slots=True)
class Strategy:
    """The makers of the books and of the mover, called anew for each answer; the defaults are DiSCo's."""

    usage_account: Callable[[Terms, float], UsageAccount] = UsageAccount
    migration_policy: Callable[[Terms, Callable[[Side], int]], MigrationPolicy] = MigrationPolicy


DISCO = Strategy()
