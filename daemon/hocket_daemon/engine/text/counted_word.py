"""Drawing a word with noise that nobody else knows, from a law of which every document's part is counted in bits.

Each row's law is that of the tokens which may come, at the session's temperature; rows are mixed behind that, so that
the part of each is known (`sampling/capped.py`). No token is left out but by the model, as a law without a token that
the other has would tell everything.

What all are compared with may be any law that no document changes. A quarter of it is the question's alone at
temperature 1: at a lower one a word that only a passage makes likely would count for more than it says.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from ..sampling.capped import Law, tempered
from ..sampling.drawing import Rule
from ..sampling.heads import Contrast, Heads, Probabilities, contrasted
from . import words
from .word_draw import Ids, WordDraw
from .word_tokens import WordTokens

_PLAIN = 0.25  # of what rows are compared with: the part that has no temperature
_LEAST = 1e-9  # of what the question alone gives to a token, so that every token can be compared


def secret_uniform() -> float:
    """Draw from [0, 1) by the operating system's randomness."""
    return secrets.randbits(53) * 2.0**-53


class WordMeter(Protocol):
    """The account of the bits that a session's drafts disclose, by document."""

    def begin(self, step: int) -> None:
        """Begin the draft of a step: earlier ones of it, and of those behind it, are void."""

    def capped(self, rows: Law, alone: Law) -> Law:
        """Return the passages' laws [rows, n], capped to what each one's document may still disclose."""

    def charge(self, step: int, rows: Probabilities, alone: float, weights: Sequence[float]) -> None:
        """Charge what was drawn for a step, to which the rows give `rows` [rows], and the question alone `alone`."""


class CountedWordDraw(WordDraw):
    """The tokens of a word that is being drawn, each charged as it is drawn."""

    def __init__(
        self,
        tokens: WordTokens,
        rule: Rule,
        at: int,
        before: bytes | None,
        account: WordMeter,
        *,
        ends: bool,
        uniform: Callable[[], float] = secret_uniform,
    ) -> None:
        """Begin the word number `at` behind `before`; of `rule` the temperature alone is used.

        `uniform` draws from [0, 1), by default from the operating system's randomness, which nobody can guess.
        """
        super().__init__(tokens, rule, at, before, mass=1.0, ends=ends)
        self._account = account
        self._uniform = uniform
        self._alone: Law = np.empty(0)
        account.begin(at)

    def _mixed(
        self, heads: Heads, weights: Sequence[float], contrast: Contrast | None
    ) -> tuple[Ids, Probabilities, Probabilities]:
        """Mix the passages' capped laws; the last row has read the question alone."""
        ids, table = heads.aligned()
        passages = table[:-1] if contrast is None else contrasted(ids, table[:-1], table[-1], contrast)
        alone = np.maximum(table[-1].astype(np.float64), _LEAST)
        self._alone = warm = self._law(ids, alone)
        if not len(passages):
            return ids, warm[None], warm
        self._alone = (1 - _PLAIN) * warm + _PLAIN * self._law(ids, alone, 1.0)
        laws = np.stack([self._law(ids, row.astype(np.float64) + _LEAST * alone) for row in passages])
        rows = self._account.capped(laws, self._alone)
        return ids, rows, np.asarray(weights) @ rows

    def _law(self, ids: Ids, chances: Law, temperature: float | None = None) -> Law:
        """Return the law of the tokens that may come, at the session's temperature or another one."""
        allowed = self._chances(ids, chances, self._allowed)
        if not allowed.any():
            return np.asarray(allowed, np.float64)
        return tempered(allowed, self._rule.temperature if temperature is None else temperature)

    def _choose(self, ids: Ids, chances: Probabilities) -> int:  # noqa: ARG002 - no noise is a function of ids
        places = chances.nonzero()[0]
        sums = chances[places].cumsum()
        return int(places[min(int(sums.searchsorted(self._uniform() * sums[-1], side="right")), len(places) - 1)])

    def _note(self, rows: Probabilities, at: int, weights: Sequence[float]) -> None:
        self._charge(rows[:, at], float(self._alone[at]), weights)

    def _note_end(self, rows: Probabilities, at: int, behind: Probabilities, weights: Sequence[float]) -> None:
        """Charge that the word ends before the token at `at`, which is thrown away: any of those `behind` says it."""
        if words.ends_softly(self._text) or len(self._text) >= words.FREE:  # not each of them ends a long word
            self._note(rows, at, weights)
        else:
            same = behind > 0
            self._charge(rows[:, same].sum(axis=1), float(self._alone[same].sum()), weights)

    def _weigh(self, each: Probabilities, mixed: float) -> None:
        """Weigh all rows, as all were decoded."""
        self._parts *= each / mixed

    def _charge(self, rows: Probabilities, alone: float, weights: Sequence[float]) -> None:
        if weights:
            self._account.charge(self._at, rows, alone, weights)
