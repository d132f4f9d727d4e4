"""What two texts, or two lists of ids, have in common at their beginnings."""

from __future__ import annotations

from collections.abc import Sequence


def common_prefix_length(first: Sequence[object], second: Sequence[object]) -> int:
    """How many elements both begin with; by halves, whose comparison costs no loop here."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
