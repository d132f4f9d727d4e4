"""The part of a row before the typed text: memory, and the text behind the cursor."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from hocket_bus.messages import Reference as Source
from hocket_bus.messages import Task

from ..engine.text.tokenizer import Layout
from .memory import Item
from .prompts import reference_text

_CONTENT_WORD = re.compile(r"\w*\d\w*|\w{4,}")
_SEEN = 80  # characters behind the cursor by which a reference is judged to have them


@dataclass(frozen=True, slots=True)
class Reference:
    """The `ids` that are read before any text; `changed_s` is when the newest of `items` came, None without items."""

    ids: list[int]
    items: tuple[Item, ...] = ()
    behind: str = ""
    changed_s: float | None = None
    unread: int = 0  # of `items`, the oldest ones, for which there was no room

    def is_for(self, items: Sequence[Item], behind: str) -> bool:
        """Tell whether the reference has that memory, and the text behind the cursor."""
        seen = behind[:_SEEN].strip()
        return self.items == tuple(items) and seen in self.behind and bool(seen) == bool(self.behind.strip())

    @property
    def text(self) -> str:
        """The text of the takeaways that are read."""
        return " ".join(item.takeaway.text for item in self.items[self.unread :])

    def sources(self, written: str, suggestion: str) -> list[Source]:
        """Return the documents whose takeaways have most of a suggestion's words not yet written; perhaps none."""
        words = _content_words(suggestion) - _content_words(written)
        read = self.items[self.unread :]
        shared = [len(words & _content_words(item.takeaway.text)) for item in read]
        maximum = max(shared, default=0)
        best = [item for item, count in zip(read, shared, strict=True) if count == maximum and maximum]
        return [Source(side=side, document=name) for side, name in {(i.side, i.takeaway.document): 0 for i in best}]


class Reader(Protocol):
    """The reader of a reference: a model, or what is to become one."""

    def layout(self, task: Task, system: str = "") -> Layout:
        """Return how a passage and a question are laid out."""

    def prompt(self, text: str, task: Task) -> list[int]:
        """Return the ids of a whole prompt."""


def make_reference(reader: Reader, items: tuple[Item, ...], behind: str, changed_s: float | None) -> Reference:
    """Make a reference of at least one id: the model's first one, or a line's end."""
    layout = reader.layout("complete")
    instructed = reader.prompt("", "answer") != reader.prompt("", "complete")  # it has a chat template
    text = reference_text([item.takeaway.text for item in items], behind, instructed=instructed)
    ids = [*layout.bos, *(layout.encode("", text, "") if text else [])]
    return Reference(ids or layout.encode("", "\n", ""), items, behind, changed_s)


def fitting_reference(
    reader: Reader, items: tuple[Item, ...], behind: str, changed_s: float | None, maximum: int
) -> Reference:
    """Make a reference of at most `maximum` ids: the oldest takeaways are left out for it, then the end of `behind`."""
    unread, seen = 0, behind
    reference = make_reference(reader, items, behind, changed_s)
    while len(reference.ids) > maximum and (unread < len(items) or seen):
        if unread < len(items):
            unread += 1
        else:
            seen = seen[: len(seen) // 2]
        reference = make_reference(reader, items[unread:], seen, changed_s)
    return replace(reference, items=items, behind=behind, unread=unread)


def _content_words(text: str) -> set[str]:
    return {word.lower() for word in _CONTENT_WORD.findall(text)}
