"""How a question and a passage are laid out for a model: the document prefix first, so that its KV can be kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from hocket_bus.alike import alike

Encode: TypeAlias = Callable[[str, str, str], list[int]]
"""Token ids of a layout's text before, somebody's text, and a layout's text behind it, without a BOS id."""


class Prefix(NamedTuple):
    """A document as a model reads it: its text, and all token ids from position 0 to the document's end."""

    text: str
    ids: list[int]


@dataclass(frozen=True, slots=True)
class Layout:
    """Text before the passage, between passage and question, and behind the question; tokenised apart."""

    before: str
    between: str
    behind: str
    bos: tuple[int, ...]
    encode: Encode

    def document(self, passage: str) -> list[int]:
        """Token ids from position 0 to the passage's end."""
        return [*self.bos, *self.encode(self.before, passage.strip(), "")]

    def question(self, question: str) -> list[int]:
        """Token ids behind the passage, up to where the answer begins."""
        return self.encode(self.between, question.strip(), self.behind)

    def own(self, question: str) -> range:
        """Which of the tokens of `question` are the question's: all that are not the layout's alone."""
        ids = self.question(question)
        before = alike(ids, self.encode(self.between, "", ""))
        behind = alike(ids[::-1], self.encode("", "", self.behind)[::-1])
        return range(before, len(ids) - behind)
