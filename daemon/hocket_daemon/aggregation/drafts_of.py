"""The way to draft in a session: tokens, or words where the sides' tokens differ."""

from __future__ import annotations

from hocket_bus.messages import Begin

from ..engine.language_model import LanguageModel
from ..engine.sampling.drawing import Rule
from .own_drafts import OwnDrafts, TokenDrafts
from .word.word_drafts import WordDrafts


def drafts_of(model: LanguageModel, begin: Begin) -> OwnDrafts:
    """Return how this side drafts in a session."""
    if begin.unit == "token":
        return TokenDrafts(model, begin.wire_mass)
    assert model.word_tokens is not None, "checked where a session begins"
    sampling = begin.sampling
    rule = Rule(sampling.seed, sampling.temperature, sampling.top_p)
    return WordDrafts(model.word_tokens, rule, mass=begin.wire_mass, ends=bool(begin.eos))
