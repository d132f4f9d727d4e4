"""How likely each row makes a text that is appended to all of them: added up pass by pass, no pass is kept."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .segments import Segment
from .voice import Rows

MOST_TOKENS = 128  # of the text's end are counted
LEAST = 1e-12  # of a probability: no single token decides alone
LEAST_LOG = MOST_TOKENS * math.log(LEAST)  # of a whole text


class Likelihoods:
    """Natural logs of the probability of a part of a text, for each row, of any size in [LEAST_LOG, 0]."""

    def __init__(self, rows: Sequence[int], text: Sequence[int], part: range) -> None:
        """`text` is what all rows are to read, and `part` which of its tokens count; the first one cannot."""
        self._text = np.asarray(text)
        self._part = range(max(1, part.start, part.stop - MOST_TOKENS), part.stop)
        self._read = dict.fromkeys(rows, 0)
        self._logs: dict[int, list[float]] = {row: [] for row in rows}
        self._last: dict[int, NDArray[np.float32]] = {}

    def add(self, segment: Segment, behind: Rows) -> None:
        """What a pass gave behind every token of `segment`, [tokens, vocabulary]."""
        first = 0
        for row, ids in zip(segment.rows, segment.tokens, strict=True):
            self._add(row, behind[first : first + len(ids)])
            first += len(ids)

    def _add(self, row: int, behind: Rows) -> None:
        at, self._last[row] = self._read[row], behind[-1].copy()
        self._read[row] += len(behind)
        counted = np.arange(max(at + 1, self._part.start), min(at + 1 + len(behind), self._part.stop))
        said = behind[counted - at - 1, self._text[counted]].astype(np.float64)
        self._logs[row] += np.log(np.maximum(said, LEAST)).tolist()

    @property
    def last(self) -> Rows:
        """[rows, vocabulary]: what follows the whole text."""
        return np.stack(list(self._last.values()))

    @property
    def sums(self) -> list[float]:
        """Of each row. The same however the text was cut into passes."""
        return [min(0.0, math.fsum(logs)) for logs in self._logs.values()]
