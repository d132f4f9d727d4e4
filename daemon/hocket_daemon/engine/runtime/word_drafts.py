"""The making of words: token by token, until a word has its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..sampling.drawing import Rule
from ..sampling.heads import Contrast, Heads
from ..text.counted_word import CountedWordDraw, WordMeter
from ..text.word_draw import DrawnWord, Proposal, WordDraw
from ..text.word_tokens import WordTokens
from ..text.words import word_of
from .own_drafts import OwnDraft

_ZETA = 0.05  # weight of a new observation in the steps that a word takes


class _Decoded(NamedTuple):
    """The heads after `ids` in the rows at `places`."""

    ids: list[int]
    places: Sequence[int]
    heads: Heads


@dataclass(slots=True)
class _Latest:
    """The last decode: where a word ends the next one begins. Replaced as a whole, on the compute thread."""

    decoded: _Decoded | None = None


class WordDraft:
    """A word that is being drawn behind `before`, the side's own tokens of the answer so far."""

    def __init__(self, before: list[int], draw: WordDraw, latest: _Latest) -> None:
        self._before = before
        self._draw = draw
        self._latest = latest
        self._places: Sequence[int] = ()

    @property
    def ids(self) -> list[int]:
        """The own tokens behind which the next step of the model decodes."""
        return [*self._before, *self._draw.ids]

    @property
    def bound(self) -> Proposal:
        """The beginning of the word, and its probability."""
        return self._draw.bound

    def known(self, places: Sequence[int]) -> Heads | None:
        """Return what follows `ids` in the rows at `places`, where the word before has told it."""
        self._places, latest = places, self._latest.decoded
        return latest.heads if latest is not None and latest[:2] == (self.ids, places) else None

    def add(self, heads: Heads, weights: list[float], contrast: Contrast | None) -> DrawnWord | None:
        """Take what follows `ids`; return the word once it is drawn."""
        self._latest.decoded = _Decoded(self.ids, self._places, heads)
        return self._draw.add(heads, weights, contrast)


class WordDrafts:
    """The drafts of a session of words."""

    def __init__(
        self, tokens: WordTokens, rule: Rule, *, mass: float, ends: bool, account: WordMeter | None = None
    ) -> None:
        """Prepare; `mass` and `ends` are as WordDraw has them. An `account` counts what each word discloses."""
        self.passes = 1.5
        self.text = tokens.text
        self._tokens = tokens
        self._rule = rule
        self._mass = mass
        self._ends = ends
        self._account = account
        self._latest = _Latest()

    def prepare(self) -> None:
        """Make the tables of the vocabulary, which takes a while the first time."""
        self._tokens.prepare()

    def count(self, passes: int) -> None:
        """Count the steps of the model that a word has taken."""
        self.passes += _ZETA * (passes - self.passes)

    def tokens(self, steps: Sequence[int]) -> list[int]:
        """Return the side's own tokens of an answer's words."""
        return self._tokens.tokens(steps)

    def begin(self, steps: Sequence[int]) -> OwnDraft:
        """Begin the draft of the word after `steps`."""
        before = word_of(steps[-1]) if steps else None
        return WordDraft(self.tokens(steps), self._draw(len(steps), before), self._latest)

    def _draw(self, at: int, before: bytes | None) -> WordDraw:
        if self._account is not None:
            return CountedWordDraw(self._tokens, self._rule, at, before, self._account, ends=self._ends)
        return WordDraw(self._tokens, self._rule, at, before, mass=self._mass, ends=self._ends)
