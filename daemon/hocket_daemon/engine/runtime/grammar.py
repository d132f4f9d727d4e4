"""Grammars that an answer obeys: which tokens may come next, by the text before them.

A grammar is text in llguidance's dialect of Lark, which may hold a JSON Schema. Of the tokens of any tokenizer those
may come whose bytes some text of the grammar has there, so sides with one grammar agree, whatever their tokens are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from threading import Lock

import numpy as np
from llguidance import LLMatcher, LLParserLimits, LLTokenizer, TokenizerWrapper
from numpy.typing import NDArray

from hocket_bus.errors import BadRequest, Unavailable

from ..language_model import LanguageModel

Allowed = NDArray[np.int32]
_LIMITS = LLParserLimits(
    initial_lexer_fuel=1_000_000,  # about 20 ms
    step_lexer_fuel=200_000,  # about 15 ms
    step_max_items=50_000,
    max_lexer_states=50_000,  # about 100 MB
    max_grammar_size=100_000,
    verbose_errors=False,
)


def check_grammar(source: str) -> None:
    """Raise BadRequest for a text that is no grammar, or too large a one."""
    if error := LLMatcher.validate_grammar(source, limits=_LIMITS):
        raise BadRequest(f"the grammar cannot be used: {_in_a_line(error)}", "change the grammar or the schema")


class Grammars:
    """The grammars of one model's answers. Usable from any thread."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._lock = Lock()

    def of(self, source: str) -> Grammar | None:
        """Return the grammar of one answer, not yet compiled; None for the empty text, which allows all."""
        return Grammar(source, self._tokens, self._model.eos) if source else None

    def _tokens(self) -> LLTokenizer:
        with self._lock:
            return self._tokenizer

    @cached_property
    def _tokenizer(self) -> LLTokenizer:
        """The table of all tokens, which takes about a second for a large vocabulary."""
        model = self._model
        return LLTokenizer(TokenizerWrapper(_Table(model)), n_vocab=model.vocabulary, eos_token=model.eos[0])


class Grammar:
    """The grammar of one answer, over one model's tokens. Usable from any thread."""

    def __init__(self, source: str, tokens: Callable[[], LLTokenizer], eos: Sequence[int]) -> None:
        self._source = source
        self._tokens = tokens
        self._eos = eos
        self._lock = Lock()
        self._ids: list[int] = []  # that the matcher has read
        self._allowed: Allowed | None = None  # behind them

    def prepare(self) -> None:
        """Compile it, before the first token is asked for. Raises BadRequest."""
        with self._lock:
            self._check(self._matcher)

    def allowed(self, ids: Sequence[int]) -> Allowed:
        """Return the ids that may follow `ids`, ascending; all that end an answer, where the text may end there.

        Raises Unavailable where `ids` are no beginning of a text of the grammar, or its limits are exceeded.
        """
        with self._lock:
            if self._ids != list(ids):
                self._read(list(ids))
                self._allowed = None
            if self._allowed is None:
                self._allowed = self._computed()
            return self._allowed

    def only(self, ids: Sequence[int]) -> int | None:
        """Return the one id that may follow `ids`; None where several may."""
        allowed = self.allowed(ids)
        return int(allowed[0]) if len(allowed) == 1 else None

    @cached_property
    def _matcher(self) -> LLMatcher:
        return LLMatcher(self._tokens(), self._source, limits=_LIMITS)

    def _read(self, ids: list[int]) -> None:
        common = next((at for at, (was, now) in enumerate(zip(self._ids, ids, strict=False)) if was != now), None)
        same = min(len(self._ids), len(ids)) if common is None else common
        matcher = self._matcher
        self._check(matcher)
        matcher.rollback(len(self._ids) - same)
        self._ids = ids
        matcher.consume_tokens(ids[same:])
        self._check(matcher)

    def _computed(self) -> Allowed:
        matcher = self._matcher
        bits = np.frombuffer(matcher.compute_bitmask(), np.uint8)
        self._check(matcher)
        allowed = np.flatnonzero(np.unpackbits(bits, bitorder="little")).astype(np.int32)
        return np.union1d(allowed, np.array(self._eos, np.int32)) if self._eos[0] in allowed else allowed

    def _check(self, matcher: LLMatcher) -> None:
        """Raise Unavailable for a matcher in an error, and begin with another one."""
        if matcher.is_error():
            error = _in_a_line(matcher.get_error())
            del self._matcher
            self._ids, self._allowed = [], None
            raise Unavailable(f"the answer cannot follow its grammar: {error}", "use a simpler grammar or schema")


class _Table:
    """The tokens of a model as llguidance wants them: the bytes of each, and how it would split a text."""

    bos_token_id = None

    def __init__(self, model: LanguageModel) -> None:
        words = model.word_tokens if model.writes_words else None
        spelled = words.token_bytes if words is not None else _spelled(model)
        special = {*model.eos, *(id for id, each in enumerate(spelled) if not each)}
        self.eos_token_id = model.eos[0]
        self.special_token_ids = sorted(special)
        self.tokens = [b"<%d>" % id if id in special else each for id, each in enumerate(spelled)]
        self._split = model.continued

    def __call__(self, text: str) -> list[int]:
        return self._split(text)


def _spelled(model: LanguageModel) -> list[bytes]:
    """Return the bytes of each token; none for special ones, which have no text."""
    return [model.piece(id) if model.text([id]) else b"" for id in range(model.vocabulary)]


def _in_a_line(error: str) -> str:
    return " ".join(error.split("\n", maxsplit=1)[0].split())[:200]
