"""The agreement on what relevance means: where the sides' best scorers differ, both use one that both have. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["agreed", "begin anew", "too late", "impossible"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """The decision, and the scorer that both sides use from then on; empty where there is none."""

    verdict: Verdict
    scorer: str = ""
    lowered: bool = False  # one side could do better, and the reader is told


def agree(used: tuple[str, str], known: tuple[Sequence[str], Sequence[str]], *, begun: bool) -> Agreement:
    """Choose from the scorers that the own and the other side used, and those that each knows, the best first.

    `begun` is whether a session may not be begun anew: tokens have been written, or it was begun anew before.
    """
    common = next((scorer for scorer in known[0] if scorer in known[1]), None)
    if common is None:
        return Agreement("too late" if begun else "impossible")  # what is written stays
    if used[0] == used[1]:
        return Agreement("agreed", common, lowered=common != known[0][0] or common != known[1][0])
    return Agreement("too late" if begun else "begin anew", common)
