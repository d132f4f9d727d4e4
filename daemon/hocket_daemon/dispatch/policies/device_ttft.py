"""The device's time to its first token: T = k l + c over the l tokens still to be computed. Pure."""

from __future__ import annotations

from collections.abc import Iterable

_DECAY = 0.98  # of what was seen, with every observation: 50 count
_MIN_SPREAD = 0.1  # of the lengths, relative to their mean; below it they tell nothing of k
_GUESS_K, _GUESS_C = 0.01, 0.05  # of a device that was never measured
_GUESS_LENGTHS = (16, 512)


class DeviceTtft:
    """The line, and the weighted sums of which least squares fits it anew with each observation.

    `k` is in seconds a token and `c` in seconds, neither below 0.
    """

    def __init__(self, k: float = _GUESS_K, c: float = _GUESS_C) -> None:
        self.k = k
        self.c = c
        self._sums = [0.0] * 5  # of 1, l, T, l², l T
        for length in _GUESS_LENGTHS:
            self._add(length, self.at(length))

    @classmethod
    def fit(cls, points: Iterable[tuple[float, float]]) -> DeviceTtft:
        """The least-squares line of (tokens, seconds); of none, a guess."""
        line, known = cls(), list(points)
        if known:
            line._sums = [0.0] * 5
            for tokens, seconds in known:
                line._add(tokens, seconds)
            line._solve()
        return line

    def at(self, tokens: float) -> float:
        """Return the seconds to the first token with so many tokens still to be computed."""
        return self.k * tokens + self.c

    def observe(self, tokens: float, seconds: float) -> None:
        """Record that the device took so long over so many tokens; older observations count less."""
        self._sums = [_DECAY * each for each in self._sums]
        self._add(tokens, seconds)
        self._solve()

    def _add(self, tokens: float, seconds: float) -> None:
        added = (1.0, tokens, seconds, tokens * tokens, tokens * seconds)
        self._sums = [old + new for old, new in zip(self._sums, added, strict=True)]

    def _solve(self) -> None:
        n, l, t, ll, lt = self._sums  # noqa: E741 # the paper's name
        mean, spread = l / n, ll / n - (l / n) ** 2
        if spread > (_MIN_SPREAD * mean) ** 2:
            self.k = max(0.0, (lt / n - mean * t / n) / spread)
        else:  # of alike lengths only the level is learnt
            self.k = min(self.k, t / l if l else 0.0)
        self.c = max(0.0, t / n - self.k * mean)
        if self.c == 0.0 and ll:
            self.k = max(0.0, lt / ll)
