"""Drawing a word: tokens of one side's own law, one after the other, until their text has a word's end.

The first token is one of those that may begin a word behind the word before, or an end. The word is the text up to the
first cut; what is drawn beyond it is thrown away, as the next word is drawn by the law that follows the canonical
tokens of all words. So a side's law of a word depends on the words before it, and on nothing else.

The noise of a token is a function of the seed, the word's number in the answer, the offset in the word, and the token's
bytes: two tokenizers meet equal noise at equal tokens, and no noise is used for two words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..sampling.distribution import truncated
from ..sampling.drawing import Rule, exponential, shape
from ..sampling.heads import Contrast, Heads, Probabilities, weighed_rows
from . import words
from .word_tokens import WordTokens

Ids: TypeAlias = NDArray[np.int32] | None
SCALE = 1 << 62  # a probability is sent, and compared, in integers of this part
_LEAST = 1e-30  # of a probability that rows are weighed by
_OFFSETS = 64  # of a word's bytes; more than words.CAP


@dataclass(frozen=True, slots=True)
class Proposal:
    """A word that a side has drawn, by number, and its probability there, `count` / SCALE, before temperature."""

    word: int
    count: int

    def of(self, word: int) -> float:
        """Return the side's probability of a word, 0 for any other one."""
        return self.count / SCALE if word == self.word else 0.0


class DrawnWord(NamedTuple):
    """A drawn word, and the part of each row in it, [rows, 1], which sum to 1."""

    distribution: Proposal
    parts: Probabilities


class WordDraw:
    """The tokens of a word that is being drawn. For one thread at a time."""

    def __init__(
        self, tokens: WordTokens, rule: Rule, at: int, before: bytes | None, *, mass: float, ends: bool
    ) -> None:
        """Begin the word number `at` behind the word `before`, None where it is the first.

        At a temperature above 0 tokens are drawn among the likeliest that hold `mass`. The answer may end where it
        `ends`.
        """
        self.ids: list[int] = []  # that have been drawn
        self._tokens = tokens
        self._rule = rule
        self._at = at
        self._mass = mass
        self._ends = ends
        self._allowed = tokens.beginning(before)
        self._text = b""
        self._chance = 1.0
        self._parts = np.ones(1)  # of the rows, by what each gives to the tokens so far

    @property
    def bound(self) -> Proposal:
        """The beginning that has been drawn, with its probability: the word that it comes to has no more."""
        return self._proposal(self._text, 1.0)

    def add(self, heads: Heads, weights: Sequence[float], contrast: Contrast | None) -> DrawnWord | None:
        """Draw the next token from what follows `ids`, as `made_of` mixes rows; return the word once it has ended."""
        ids, rows, mixed = self._mixed(heads, weights, contrast)
        if not self.ids:
            self._parts = np.array(weights or [1.0])
        chances = self._chances(ids, mixed, self._allowed)
        total = float(chances.sum())
        if total <= 0:  # the model names no token that may come here
            return self._drawn(self._text, 0.0)
        at = self._choose(ids, chances / total)
        token = at if ids is None else int(ids[at])
        chance = float(chances[at]) / total
        if token == self._tokens.end or token in self._tokens.ends:
            word = self._text
        else:
            text = self._text + self._tokens.token_bytes[token]
            found = words.first_word(text)
            if found is None:
                self._weigh(rows[:, at], float(mixed[at]))
                self._note(rows, at, weights)
                self._go_on(token, text, chance)
                return None
            word = found
        if self._text and len(word) == len(self._text):
            behind = self._chances(ids, mixed, self._tokens.beginning(words.readable(word)))
            chance = float(behind.sum()) / total
            self._note_end(rows, at, behind, weights)
        else:
            self._weigh(rows[:, at], float(mixed[at]))
            self._note(rows, at, weights)
        return self._drawn(word, chance)

    def _mixed(
        self, heads: Heads, weights: Sequence[float], contrast: Contrast | None
    ) -> tuple[Ids, Probabilities, Probabilities]:
        """Return ascending ids, the rows' probabilities of them, and their mixture."""
        return weighed_rows(heads, list(weights), contrast)

    def _note(self, rows: Probabilities, at: int, weights: Sequence[float]) -> None:
        """Take note of the token at `at`, which is part of the word: nothing is counted here."""

    def _note_end(self, rows: Probabilities, at: int, behind: Probabilities, weights: Sequence[float]) -> None:
        """Take note that the word ends before the token at `at`, which is one of those `behind` a word."""

    def _chances(self, ids: Ids, mixed: Probabilities, allowed: NDArray[np.bool_]) -> Probabilities:
        """Return the probabilities of the allowed tokens; all ends' together at the first that is there."""
        chances = np.where(allowed[: len(mixed)] if ids is None else allowed[ids], mixed, 0).astype(np.float64)
        ends = np.array(self._tokens.ends) if ids is None else np.flatnonzero(np.isin(ids, self._tokens.ends))
        if len(ends):
            together = chances[ends].sum() if self._ends else 0.0
            chances[ends] = 0.0
            chances[ends[0]] = together
        return chances

    def _choose(self, ids: Ids, chances: Probabilities) -> int:
        """Return the place of the token that wins the race."""
        if self._rule.temperature == 0:
            return int(chances.argmax())
        law, places = truncated(chances, self._mass, np.arange(len(chances)) if ids is not None else None)
        left, weights = shape(self._rule, places, law.probabilities)
        hashes = self._tokens.hashes[left if ids is None else ids[left]]
        noise = exponential(self._rule.seed, self._noise_of(), hashes)
        return int(left[(noise / weights).argmin()])

    def _noise_of(self) -> int:
        """Return the number of this token's noise, which no other token of the answer has."""
        return self._at * _OFFSETS + len(self._text)

    def _go_on(self, token: int, text: bytes, chance: float) -> None:
        self._text = text
        self._chance *= chance
        self._allowed = self._tokens.any
        self.ids.append(token)

    def _weigh(self, each: Probabilities, mixed: float) -> None:
        """Weigh the rows that were decoded by what each gives to a token, [rows], and the mixture."""
        heavy = self._parts > 0
        self._parts[heavy] *= np.maximum(each, _LEAST) / max(mixed, _LEAST)

    def _drawn(self, word: bytes, chance: float) -> DrawnWord:
        parts = self._parts / self._parts.sum()
        return DrawnWord(self._proposal(word, chance), parts[:, None])

    def _proposal(self, word: bytes, chance: float) -> Proposal:
        count = max(1, min(SCALE, round(self._chance * chance * SCALE)))
        return Proposal(words.number_of(words.readable(word)), count)
