"""The tokens of one tokenizer in words: which may begin a word, and how a word is spelled."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from hocket_bus.errors import BadConfiguration

from . import words
from .spelling import AnyTokenizer, without_added
from .token_bytes import named_bytes

Mask = NDArray[np.bool_]
_BEHIND = "x"  # a word that ends with a newline is spelled as if this followed, as other text does
_SPELLED = 65_536  # words whose tokens are remembered


class WordTokens:
    """A byte-level tokenizer whose tokens are drawn until they end a word. Usable from any thread."""

    def __init__(self, tokenizer: AnyTokenizer, eos: Sequence[int], vocabulary: int) -> None:
        """Prepare it; `vocabulary` is the number of ids. Raises BadConfiguration for a tokenizer of another kind."""
        described = _described(tokenizer)
        self._tokenizer = tokenizer
        self._bare = Tokenizer.from_str(json.dumps(without_added(described, tokenizer.added_tokens_decoder)))
        self._vocabulary = vocabulary
        self.ends = list(eos)
        self.end = self.ends[0] if self.ends else -1  # stands for all of them
        self.spelled = lru_cache(_SPELLED)(self._spelled)

    @cached_property
    def token_bytes(self) -> list[bytes]:
        """The bytes of each token; empty for what is never drawn: added tokens, and ids without one."""
        table = [b""] * self._vocabulary
        added = self._tokenizer.added_tokens_decoder
        for name, id in self._tokenizer.get_vocab().items():
            if id < self._vocabulary and id not in added:
                table[id] = named_bytes(name)
        return table

    @cached_property
    def hashes(self) -> NDArray[np.uint64]:
        """A number of each token that depends on its bytes alone, [ids]; all ends have that of no bytes."""
        return np.array([_hash(piece) for piece in self.token_bytes], np.uint64)

    @cached_property
    def any(self) -> Mask:
        """The tokens that may go on with a word, and the end, [ids]."""
        return np.array([bool(piece) for piece in self.token_bytes]) | self._end

    def prepare(self) -> None:
        """Make all tables, which takes about a second for a large vocabulary."""
        for _ in (self.hashes, self._by_line, self._by_mark):
            pass

    def beginning(self, before: bytes | None) -> Mask:
        """Return which tokens may begin a word behind the word `before`, and the end, [ids]; None: it is the first.

        Any may behind a word without text, which an answer that may not end can have.
        """
        if not before or len(before) >= words.FREE:
            return self.any
        if before.endswith(b"\n"):
            return self._by_line
        if before[-1] in words.SPACES:
            return self._end
        return self._by_mark if words.ends_softly(before) else self._by_space

    def tokens(self, numbers: Sequence[int]) -> list[int]:
        """Return the tokens of an answer of words with these numbers, each spelled by itself."""
        return [id for number in numbers for id in self.spelled(number)]

    def text(self, numbers: Sequence[int]) -> str:
        """Return the text of words with these numbers."""
        return b"".join(map(words.word_of, numbers)).decode("utf-8", "replace")

    def _spelled(self, number: int) -> tuple[int, ...]:
        word = words.word_of(number)
        if word == words.END:
            return (self.end,)
        text = word.decode()
        if word.endswith(b"\n"):
            found = self._ids(text + _BEHIND)
            if self.token_bytes[found[-1]] == _BEHIND.encode():
                return tuple(found[:-1])
        return tuple(self._ids(text))

    def _ids(self, text: str) -> list[int]:
        return list(self._bare.encode(text, add_special_tokens=False).ids)

    @cached_property
    def _first(self) -> NDArray[np.uint8]:
        return np.array([piece[0] if piece else 0 for piece in self.token_bytes], np.uint8)

    @cached_property
    def _end(self) -> Mask:
        mask = np.zeros(self._vocabulary, bool)
        mask[self.ends] = True
        return mask

    @cached_property
    def _by_space(self) -> Mask:
        return np.asarray((self.any & (self._first == 0x20)) | self._end)

    @cached_property
    def _by_line(self) -> Mask:
        return np.asarray((self.any & ~np.isin(self._first, list(words.SPACES))) | self._end)

    @cached_property
    def _by_mark(self) -> Mask:
        return np.asarray(self._by_space | np.array([_may_be_mark(piece) for piece in self.token_bytes]))


def _may_be_mark(piece: bytes) -> bool:
    """Tell whether a token begins with a mark, or with a character whose end is in another token."""
    if not piece or piece[0] & 0xC0 == 0x80:
        return False
    text = piece.decode("utf-8", "ignore")
    return words.is_mark(text[0]) if text else True


def is_byte_level(tokenizer: AnyTokenizer) -> bool:
    """Tell whether a tokenizer is byte-level BPE, and so can write words."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or backend.decoder is None:
        return False
    decoder: dict[str, Any] = json.loads(backend.decoder.__getstate__())  # of the decoder alone: all takes a while
    return "ByteLevel" in [decoder.get("type"), *(each.get("type") for each in decoder.get("decoders", ()))]


def _described(tokenizer: AnyTokenizer) -> dict[str, Any]:
    """Return a tokenizer's description, without a normaliser. Raises BadConfiguration for one of another kind."""
    if not is_byte_level(tokenizer):
        raise BadConfiguration(
            "this model's tokenizer is not byte-level BPE, so it can write no answer by words",
            "use models of one family on both sides",
        )
    described: dict[str, Any] = json.loads(tokenizer.backend_tokenizer.to_str())
    return described | {"normalizer": None}


def _hash(piece: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(piece, digest_size=8).digest(), "big")
