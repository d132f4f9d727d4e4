"""The strategy for an answer: what keeps its books and decides who begins, and what decides whether it moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hocket_bus.messages import Side

from .booking import Books
from .moves import Mover
from .terms import Terms


@dataclass(frozen=True, slots=True)
class Strategy:
    """The makers of the books and of the mover, called anew for each answer; the defaults are DiSCo's."""

    books: Callable[[Terms, float], Books] = Books
    mover: Callable[[Terms, Callable[[Side], int]], Mover] = Mover


DISCO = Strategy()
