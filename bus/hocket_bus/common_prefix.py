"""Common prefix of two texts, or of two lists of ids."""

from __future__ import annotations

from collections.abc import Sequence


def common_prefix_length(first: Sequence[object], second: Sequence[object]) -> int:
    """Return the length of the common prefix. A binary search over slices avoids a Python loop over the elements."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
