"""The text of every token, and which tokens fit letters that are typed already."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..engine.voice import Voice

Ids = NDArray[np.int64]
HALF = "\ufffd"  # a character that is not whole yet
_BEFORE = "a"  # a text's first token may read otherwise than one behind others
_LAST = "\U0010ffff"  # above every character of a text


class Pieces:
    """What each id of a voice's vocabulary adds to a text. From any thread."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self._before = voice.continued(_BEFORE)
        self._skip = len(voice.text(self._before))

    def text(self, ids: Sequence[int]) -> str:
        """What `ids` add to a text, half a character at its end as U+FFFD."""
        return self._voice.text([*self._before, *ids])[self._skip :]

    def of(self, token: int) -> str:
        """What one id adds; empty where that is no whole character, or nothing."""
        return self._texts[token]

    def fitting(self, typed: str) -> Ids:
        """The ids that spell a beginning of `typed`, which is not empty, or begin with all of it."""
        spelled, ids = self._sorted
        whole = ids[bisect_left(spelled, typed) : bisect_left(spelled, typed + _LAST)]
        shorter = (self._by_text.get(typed[:length], ()) for length in range(1, len(typed)))
        return np.concatenate([whole, *(np.asarray(part, np.int64) for part in shorter)])

    def can_spell(self, typed: str) -> bool:
        """Whether letters can be spelled whatever tokens they are begun with: each one has a token of its own."""
        return all(letter in self._by_text for letter in typed)

    @cached_property
    def _texts(self) -> list[str]:
        texts = (self.text([token]) for token in range(self._voice.vocabulary))
        return ["" if HALF in text else text for text in texts]

    @cached_property
    def _by_text(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for token, text in enumerate(self._texts):
            if text and token not in self._voice.eos:
                found.setdefault(text, []).append(token)
        return found

    @cached_property
    def _sorted(self) -> tuple[list[str], Ids]:
        pairs = sorted((text, token) for text, tokens in self._by_text.items() for token in tokens)
        return [text for text, _ in pairs], np.array([token for _, token in pairs], np.int64)
