"""The part of a text before the cursor that the model reads, and the letters of the last word, which may be half typed.

The ids of a part are a function of its text alone, however it came to be typed: it is cut into blocks, and each block
is tokenised by itself. TokenTexts knows which tokens spell the letters.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..engine.language_model import LanguageModel

Ids = NDArray[np.int64]
HALF = "\ufffd"  # a character that is not whole yet
_BEFORE = "a"  # a text's first token may read otherwise than one behind others
_LAST = "\U0010ffff"  # above every character of a text


class TokenTexts:
    """The text that each id of a model's vocabulary adds. From any thread."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._before = model.continued(_BEFORE)
        self._skip = len(model.text(self._before))

    def text(self, ids: Sequence[int]) -> str:
        """Return what `ids` add to a text, half a character at its end as U+FFFD."""
        return self._model.text([*self._before, *ids])[self._skip :]

    def of(self, token: int) -> str:
        """Return what one id adds; empty where that is no whole character, or nothing."""
        return self._texts[token]

    def fitting(self, typed: str) -> Ids:
        """Return the ids that spell a beginning of `typed`, which is not empty, or begin with all of it."""
        spelled, ids = self._sorted
        whole = ids[bisect_left(spelled, typed) : bisect_left(spelled, typed + _LAST)]
        shorter = (self._by_text.get(typed[:length], ()) for length in range(1, len(typed)))
        return np.concatenate([whole, *(np.asarray(part, np.int64) for part in shorter)])

    def can_spell(self, typed: str) -> bool:
        """Tell whether letters can be spelled whatever tokens begin them: each letter has a token of its own."""
        return all(letter in self._by_text for letter in typed)

    @cached_property
    def _texts(self) -> list[str]:
        texts = (self.text([token]) for token in range(self._model.vocabulary))
        return ["" if HALF in text else text for text in texts]

    @cached_property
    def _by_text(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for token, text in enumerate(self._texts):
            if text and token not in self._model.eos:
                found.setdefault(text, []).append(token)
        return found

    @cached_property
    def _sorted(self) -> tuple[list[str], Ids]:
        pairs = sorted((text, token) for text, tokens in self._by_text.items() for token in tokens)
        return [text for text, _ in pairs], np.array([token for _, token in pairs], np.int64)


BLOCK = 200  # characters, from which on a block ends before the next word
KEPT = 256  # blocks
MAX_TYPED = 32  # letters of a word that decoding is bound to
# Thai to Khmer, kana and the Han ideographs have no blanks between words: nothing is healed there.
_TYPED = re.compile(
    r"\s{0,16}[^\s\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{0,32}\Z"
)
_WORD = re.compile(r"(?<=\w) (?=\w)")
_START = re.compile(r"(?<=\s)\S")


class Window(NamedTuple):
    """A window: `ids` are those of `text`, which is read; decoding after them is bound to the letters `typed`."""

    text: str
    typed: str
    ids: list[int]


class Encoding:
    """The encoding of texts as ids, block by block; recent blocks are cached."""

    def __init__(self, encode: Callable[[str], list[int]], can_spell: Callable[[str], bool]) -> None:
        """Use `encode` for a text that follows another one; letters that cannot be spelled are read as they are."""
        self._encode = encode
        self._can_spell = can_spell
        self._kept: dict[str, list[int]] = {}

    def ids(self, text: str) -> list[int]:
        """Return the ids of the whole text."""
        return [token for block in blocks(text) for token in self._block(block)]

    def window(self, before: str) -> Window:
        """Split the text `before` the cursor into what is read and what is typed after that."""
        typed = typed_at_end(before)
        typed = typed if self._can_spell(typed) else ""
        text = before[: len(before) - len(typed)]
        return Window(text, typed, self.ids(text))

    def start(self, text: str, max_tokens: int) -> int:
        """Return where the last `max_tokens` or fewer of a text begin: at the beginning of a word, if there is one."""
        start = _word_from(text, max(0, len(text) - 8 * max_tokens))
        while (count := len(self.ids(text[start:]))) > max_tokens:
            surplus = 1 - max_tokens / count
            start = _word_from(text, start + max(1, int((len(text) - start) * surplus)))
        return start

    def _block(self, block: str) -> list[int]:
        ids = self._kept.pop(block, None)
        self._kept[block] = ids = self._encode(block) if ids is None else ids
        if len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        return ids


def blocks(text: str) -> Iterator[str]:
    """Yield the blocks of a text, which is cut before words."""
    start = 0
    while (border := _WORD.search(text, start + BLOCK)) is not None:
        yield text[start : border.start()]
        start = border.start()
    if start < len(text):
        yield text[start:]


def typed_at_end(text: str) -> str:
    """Return the last word of a text with the blanks before it, as far as it is bound to be spelled."""
    found = _TYPED.search(text, max(0, len(text) - MAX_TYPED - 16))
    return found[0] if found else ""


def _word_from(text: str, start: int) -> int:
    """Return the next beginning of a word within reach; without one, `start`."""
    found = _START.search(text, start, start + 64) if start else None
    return found.start() if found else start
