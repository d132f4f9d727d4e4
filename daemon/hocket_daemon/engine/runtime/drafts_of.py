"""The way to draft in a session: tokens, or words where the sides' tokens differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hocket_bus.messages import Sampling, Unit

from ..language_model import LanguageModel
from ..sampling.drawing import Rule
from ..sampling.heads import TokenDraft
from ..text.counted_word import WordMeter
from ..text.word_tokens import WordTokens
from ..text.words import CAP
from .constrained import ConstrainedDrafts
from .grammar import Grammar
from .own_drafts import OwnDraft, OwnDrafts
from .word_drafts import WordDrafts

MORE_TOKENS = 1.5  # that a side's tokenizer may have than the asked side's, for the same words


class TokenDrafts:
    """The drafts of a session of tokens: distributions that hold `mass`."""

    passes = 1.0

    def __init__(self, model: LanguageModel, mass: float) -> None:
        self.text = model.text
        self._mass = mass

    def prepare(self) -> None:
        """Do nothing: tokens need no tables."""

    def count(self, passes: int) -> None:
        """Do nothing: a token takes one step."""

    def tokens(self, steps: Sequence[int]) -> list[int]:
        """Return the steps, which are tokens."""
        return list(steps)

    def begin(self, steps: Sequence[int]) -> OwnDraft:
        """Begin the draft of the token after `steps`."""
        return TokenDraft(list(steps), self._mass)


def drafts_of(
    model: LanguageModel,
    unit: Unit,
    sampling: Sampling,
    *,
    mass: float,
    ends: bool,
    account: WordMeter | None = None,
    grammar: Grammar | None = None,
) -> OwnDrafts:
    """Return how a side drafts in a session; `mass` and `ends` are as WordDraw has them.

    An `account` counts what drawn words disclose; then their noise is this side's own, not that of the seed. The answer
    obeys the `grammar`, if there is one.
    """
    if grammar is not None:
        free = drafts_of(model, unit, sampling, mass=mass, ends=ends, account=account)
        return ConstrainedDrafts(free, grammar, mass if unit == "token" else 1.0)  # a word's draw cuts, and counts, all
    if unit == "token":
        return TokenDrafts(model, mass)
    rule = Rule(sampling.seed, sampling.temperature, sampling.top_p)
    return WordDrafts(_words_of(model), rule, mass=mass, ends=ends, account=account)


def room_of(unit: Unit, sampling: Sampling) -> int:
    """Return how many tokens of a side's own an answer may have."""
    return sampling.max_tokens if unit == "token" else round(MORE_TOKENS * sampling.max_tokens) + CAP


def tokens_of(model: LanguageModel, unit: Unit) -> Callable[[Sequence[int]], list[int]]:
    """Return the function that turns steps of an answer into the model's own tokens."""
    return list if unit == "token" else _words_of(model).tokens


def text_of(model: LanguageModel, unit: Unit) -> Callable[[list[int]], str]:
    """Return the function that turns steps of an answer into text."""
    return model.text if unit == "token" else _words_of(model).text


def _words_of(model: LanguageModel) -> WordTokens:
    assert model.word_tokens is not None, "checked where a session begins"
    return model.word_tokens
