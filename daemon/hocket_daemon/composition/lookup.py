"""What may come next, by what stands in the memory and the text already: prompt lookup, proposed to be verified."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from .pieces import Ids, Pieces

MOST = 15  # tokens that are proposed at once: a pass of 16 takes little longer than one of a single token
DEPTH = 4  # tokens before a place by which it is compared
WORTH = (0, 2, 6, MOST, MOST)  # tokens that are proposed where so many before a place are alike
TRIED = 8  # places that are spelled out against what is typed
_BORDER = -1


class Lookup:
    """The ids of several texts, the likeliest source last."""

    def __init__(self, texts: Iterable[Sequence[int]]) -> None:
        self._ids = np.concatenate([np.array([*text, _BORDER], np.int64) for text in texts] or [np.empty(0, np.int64)])

    def propose(self, before: Sequence[int], typed: str, pieces: Pieces) -> list[int]:
        """At most MOST tokens that followed the end of `before` elsewhere; such as spell `typed` first."""
        if not len(self._ids):
            return []
        depth = self._depth(before)
        if typed:
            fits = np.isin(self._ids, pieces.fitting(typed))
            places = self._best(np.where(fits, depth + 1, 0))
            found = (self._from(place) for place in places)
            return next((ids for ids in found if _spells(ids, typed, pieces)), [])
        places = self._best(depth)
        return self._from(places[0])[: WORTH[int(depth[places[0]])]] if places else []

    def _depth(self, before: Sequence[int]) -> Ids:
        """How many tokens before each place are those at the end of `before`."""
        depth = np.zeros(len(self._ids), np.int64)
        alike = np.ones(len(self._ids), bool)
        for back, token in enumerate(reversed(before[-DEPTH:]), start=1):
            alike[:back] = False
            alike[back:] &= self._ids[:-back] == token
            depth += alike
        return depth

    def _best(self, worth: Ids) -> list[int]:
        """The places that are worth most, the last ones first."""
        order = np.argsort(worth, kind="stable")[::-1][:TRIED]
        return [int(place) for place in order if worth[place] > 0]

    def _from(self, place: int) -> list[int]:
        part = self._ids[place : place + MOST]
        ends = np.flatnonzero(part == _BORDER)
        return [int(token) for token in part[: ends[0] if len(ends) else None]]


def _spells(ids: list[int], typed: str, pieces: Pieces) -> bool:
    text = pieces.text(ids)
    return text.startswith(typed) or (bool(text) and typed.startswith(text))
