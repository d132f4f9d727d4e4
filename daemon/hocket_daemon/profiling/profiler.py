"""The time of a decode step by the length of the context: DRAGON §5.2. Pure; knows no model, clock or file.

c_dec(t) = k_a t / k_b + k_c. The offline stage fits all three; at run time the slope moves and the intercept k_c stays.
"""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from hocket_bus.errors import BadRequest
from hocket_bus.estimate import Estimate

ZETA = 0.2  # weight of a new observation; the paper gives none
MIN_POINTS = 16
_KEPT = 1000  # errors of predictions


class DecodeTime(Struct, frozen=True, forbid_unknown_fields=True):
    """The model's three coefficients: k_a in seconds · tokens, k_b in tokens², k_c in seconds.

    k_a and k_b are means over the observations, so that ζ weighs one more against all before.
    """

    k_a: float
    k_b: float
    k_c: float

    def at(self, t: float) -> float:
        """Return c_dec(t) in seconds at a context of `t` tokens, never negative."""
        return max(0.0, self.k_a * t / self.k_b + self.k_c)

    def updated(self, t: float, c_dec: float) -> DecodeTime:
        """Return the model after one more step: `c_dec` seconds at `t` tokens; the intercept is frozen."""
        k_a = (1 - ZETA) * self.k_a + ZETA * (c_dec - self.k_c) * t
        return DecodeTime(k_a, (1 - ZETA) * self.k_b + ZETA * t * t, self.k_c)


class PrefillTime(Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds to the first token after a prompt of l tokens: T = k l + c (DiSCo §4.2)."""

    k: float
    c: float


class Energy(Struct, frozen=True, forbid_unknown_fields=True):
    """Measured joules of a prompt's token and of an answer's token in one row."""

    prefill_j: float
    decode_j: float


def fit_prefill(lengths: Sequence[float], seconds: Sequence[float]) -> PrefillTime:
    """Return the least-squares line of at least two lengths; neither coefficient is negative."""
    l, t = np.asarray(lengths, float), np.asarray(seconds, float)  # noqa: E741 - the paper's name
    centred = l - l.mean()
    k = max(0.0, float(centred @ t / (centred @ centred)))
    return PrefillTime(k, max(0.0, float(t.mean() - k * l.mean())))


def fit(contexts: Sequence[float], seconds: Sequence[float]) -> DecodeTime:
    """Fit the model by least squares: steps took `seconds[i]` at `contexts[i]` tokens. Raises BadRequest for too few.

    With the least-squares intercept k_c, the means of (c − k_c) t and t² have the least-squares slope as their ratio.
    """
    t, c = np.asarray(contexts, float), np.asarray(seconds, float)
    if len(np.unique(t)) < MIN_POINTS:
        raise BadRequest(
            f"decode times at only {len(np.unique(t))} context lengths, a fit needs {MIN_POINTS}",
            "raise 'context' under [model], or use shorter chunks",
        )
    centred = t - t.mean()
    k_c = float(c.mean() - (centred @ c) / (centred @ centred) * t.mean())
    return DecodeTime(float(np.mean((c - k_c) * t)), float(np.mean(t * t)), k_c)


class Profiler:
    """The runtime stage of one side: a model for each number of rows that decode together.

    It learns the median of the last three measured times, so that a single step that was kept waiting moves nothing.
    Without an offline fit the time is taken as the same at every context: a moving average of what was measured.
    """

    def __init__(self) -> None:
        self.predicted_s = 0.0  # of the last measured step, before it was known
        self.measured_s = 0.0
        self.context = 0
        self.steps = 0
        self.prefill: PrefillTime | None = None  # by the offline stage
        self.energy: Energy | None = None  # the same, where the machine counts it
        self._fitted: dict[int, DecodeTime] = {}
        self._models: dict[int, DecodeTime] = {}
        self._latest: dict[int, Estimate] = {}
        self._errors: deque[float] = deque(maxlen=_KEPT)

    @property
    def error(self) -> float:
        """Median of |predicted − measured| / measured over the latest steps; 0 before the first."""
        return statistics.median(self._errors) if self._errors else 0.0

    def begin(self, fitted: Mapping[int, DecodeTime]) -> None:
        """Start from an offline stage's fits by number of rows, unless these are what it started from."""
        if fitted != self._fitted:
            self._fitted = dict(fitted)
            self._models = dict(fitted)
            self._latest.clear()

    def knows(self, rows: int) -> bool:
        """Tell whether the offline stage measured so many rows."""
        return rows in self._fitted

    def step_s(self, rows: int) -> float:
        """Return the predicted seconds of a step of so many rows at the last context; 0 where none was seen."""
        model = self._models.get(rows)
        return model.at(self.context) if model is not None else 0.0

    def observe(self, rows: int, t: int, c_dec: float) -> float:
        """Learn from a step of `rows` rows at `t` tokens; return the predicted seconds of the next one."""
        model = self._models.get(rows)
        if model is not None:
            self.predicted_s, self.measured_s, self.context = model.at(t), c_dec, t
            self._errors.append(abs(self.predicted_s - c_dec) / c_dec)
            self.steps += 1
        latest = self._latest.setdefault(rows, Estimate())
        latest.add(c_dec)
        self._models[rows] = model = self._learn(rows, model, t, latest.now)
        return model.at(t + 1)

    def _learn(self, rows: int, model: DecodeTime | None, t: int, c_dec: float) -> DecodeTime:
        if model is None:
            return DecodeTime(0.0, 1.0, c_dec)
        if self.knows(rows):
            return model.updated(t, c_dec)
        return DecodeTime(0.0, 1.0, (1 - ZETA) * model.k_c + ZETA * c_dec)
