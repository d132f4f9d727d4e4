"""How likely each row makes every token of a text that is appended to all of them; no pass is kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..segments import Segment
from ..voice import Rows

MOST_TOKENS = 128  # of the text's end are counted
LEAST = 1e-12  # of a probability: no single token decides alone
NOTHING_HEARD: NDArray[np.float64] = np.zeros((0, 0))


class Likelihoods:
    """Natural logs of the probabilities of a text's tokens behind each row, in [log LEAST, 0]."""

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
    def logs(self) -> NDArray[np.float64]:
        """[rows, tokens], of the part of the text that counts. The same however the text was cut into passes."""
        return np.asarray(np.minimum(0.0, np.array(list(self._logs.values()))))
