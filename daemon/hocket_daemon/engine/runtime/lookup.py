"""The search for the end of a text elsewhere, and for what follows it there: prompt-lookup decoding (Saxena 2023)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ids: TypeAlias = NDArray[np.int64]
_BORDER = -1


class Lookup:
    """The ids of several texts, the likeliest source last; a text also ends where one of `ends` stands."""

    def __init__(self, texts: Iterable[Sequence[int]], ends: Collection[int] = ()) -> None:
        ids = np.array([token for text in texts for token in (*text, _BORDER)], np.int64)
        self.ids: Ids = np.where(np.isin(ids, list(ends)), _BORDER, ids)

    def beside(self, text: Sequence[int]) -> Lookup:
        """Return a lookup with one more text, which has not ended yet."""
        more = Lookup(())
        more.ids = np.concatenate((self.ids, np.array(text, np.int64)))
        return more

    def depth(self, before: Sequence[int], most: int) -> Ids:
        """Return for each token's place how many tokens before it, up to `most`, equal those at the end of `before`."""
        depth = np.zeros(len(self.ids), np.int64)
        similar = self.ids != _BORDER
        for back, token in enumerate(reversed(before[-most:]), start=1):
            similar[:back] = False
            similar[back:] &= self.ids[:-back] == token
            if not similar.any():
                break
            depth += similar
        return depth

    def following(self, place: int, most: int) -> list[int]:
        """Return at most `most` tokens from a place on, up to the end of its text."""
        part = self.ids[place : place + most]
        ends = np.flatnonzero(part == _BORDER)
        return [int(token) for token in part[: ends[0] if len(ends) else None]]
