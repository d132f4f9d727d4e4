"""The times of a model's forward passes on this machine, learned from earlier passes; they change speed alone."""

from __future__ import annotations

from collections import deque
from statistics import median

FEW = 16  # tokens that a pass has at most for which more are worth considering
MANY = 32  # from which on a pass tells what a token takes
_KEPT = 3  # times of equal passes: one that was kept waiting moves nothing
_NEW = 0.2  # weight of a new pass of many
TOLD = 1.5  # what a token costs behind which something is asked for, over one of a prompt
LEAST = 0.02  # share: a pass of many that was lucky means nothing


class PassCosts:
    """Passes of few tokens by their number, and a moving average of passes of many."""

    def __init__(self) -> None:
        self._few: dict[int, deque[float]] = {}
        self._many: tuple[float, float] | None = None  # tokens and seconds

    def observe(self, tokens: int, seconds: float) -> None:
        """Record that a pass of `tokens` tokens took `seconds`."""
        if tokens <= FEW:
            self._few.setdefault(tokens, deque(maxlen=_KEPT)).append(seconds)
        elif tokens >= MANY:
            former = self._many or (tokens, seconds)
            self._many = former[0] + _NEW * (tokens - former[0]), former[1] + _NEW * (seconds - former[1])

    @property
    def token_s(self) -> float:
        """Seconds of one token of a prompt, on average; 0 before any was read."""
        return self._many[1] / self._many[0] if self._many is not None else 0.0

    def share(self, tokens: int) -> float:
        """Return the part of a pass's time that its `tokens` take, in (0, 1]; 1 where that is not known yet.

        The rest is reading the weights, which more tokens would share: the time of a prompt's pass is a + b tokens.
        """
        if tokens not in self._few or self._many is None:
            return 1.0
        step_s, (many, many_s) = median(self._few[tokens]), self._many
        each_s = TOLD * (many_s - step_s) / (many - tokens)
        return min(1.0, max(LEAST, tokens * each_s / step_s))
