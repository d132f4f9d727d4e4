"""A text as somebody types it, in every way that texts change, and plain greedy decoding to compare with."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np

from hocket_bus.messages import Edit
from hocket_daemon.composition.completer import Completed
from hocket_daemon.composition.window import TokenTexts
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.segments import Segment, in_passes

REQUEST = bytes(range(16))
TIE = 1e-4  # probabilities nearer than this are told apart by no float32


class Typist:
    """Types words of a text, takes letters back, jumps, pastes, deletes; knows the text as it should be."""

    def __init__(self, seed: int, words: list[str], text: str = "") -> None:
        self.text, self.cursor, self.version = text, len(text), 0
        self._random = random.Random(seed)
        self._words = words
        self._typing = ""

    def edits(self, count: int) -> Iterator[Edit]:
        for _ in range(count):
            yield self._edit(*self._change())

    def follow(self, suggestion: str) -> None:
        """Type along it for a while."""
        self._typing = suggestion

    def _change(self) -> tuple[int, int, str]:
        kind = self._random.random()
        if kind < 0.80:
            return self.cursor, 0, self._letter()
        if kind < 0.92 and self.cursor:
            back = self._random.choice([1, 1, 1, 2, 5])
            self._typing = ""
            return max(0, self.cursor - back), min(back, self.cursor), ""
        if kind < 0.95:
            self.cursor = self._random.randint(0, len(self.text))
            return self.cursor, 0, ""
        if kind < 0.98:
            return (
                self.cursor,
                0,
                " ".join(self._random.choices(self._words, k=self._random.choice([3, 20, 200]))) + " ",
            )
        at = self._random.randint(0, len(self.text))
        return at, min(self._random.choice([1, 40, 400]), len(self.text) - at), self._random.choice(["", "é🙂", "\n\n"])

    def _letter(self) -> str:
        self._typing = self._typing or " " + self._random.choice(self._words)
        letter, self._typing = self._typing[0], self._typing[1:]
        return letter

    def _edit(self, at: int, removed: int, inserted: str) -> Edit:
        base, self.version = self.version, self.version + 1
        self.text = self.text[:at] + inserted + self.text[at + removed :]
        self.cursor = at + len(inserted)
        return Edit(
            request=REQUEST,
            base=base,
            version=self.version,
            at=at,
            removed=removed,
            inserted=inserted,
            cursor=self.cursor,
        )


def plain(model: LanguageModel, token_texts: TokenTexts, told: Completed) -> tuple[list[int], float]:
    """As many tokens as the path has, by greedy decoding one by one in a fresh row; and the least lead of one."""
    window = told.path.window
    if not (window.text + window.typed).strip():
        return [], 1.0  # nothing is suggested before anything is typed
    (row,) = model.slots.take(1)
    tokens: list[int] = []
    lead = 1.0
    try:
        for segment in in_passes([row], [[*told.reference.ids, *window.ids]], model.prefill_tokens):
            behind = model.read([segment])[0].probabilities[-1]
        while len(tokens) < len(told.path.tokens) + told.path.ended:
            left = window.typed[len(token_texts.text(tokens)) :]
            allowed = token_texts.fitting(left) if left else np.arange(len(behind))
            order = np.argsort(-behind[allowed], kind="stable")
            best = allowed[order[:2]]
            if len(best) > 1:
                lead = min(lead, float(1 - behind[best[1]] / behind[best[0]]))
            if best[0] in model.eos:
                break
            tokens.append(int(best[0]))
            behind = model.read([Segment([row], [[tokens[-1]]])])[0].probabilities[-1]
    finally:
        model.slots.give_back([row])
    return tokens, lead
