"""Law of quotes: five words in a row that a document has are found, and no document is read twice for it."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

from hocket_retrieval.graph.leaving import Quotes

TEXTS = {
    "long.md": "The ferry leaves at nine from pier four. " * 400 + "Ada keeps the brass key behind the clock.",
    "other.md": "Nothing of it is here, but for the brass key.",
}


class Documents:
    """A store as Quotes reads it, which counts how often each document is read."""

    def __init__(self) -> None:
        self.read = Counter[str]()

    def documents_with(self, one: str, other: str) -> list[str]:
        return [name for name, text in TEXTS.items() if one in text.lower() and other in text.lower()]

    def document(self, name: str) -> Any:
        self.read[name] += 1
        return SimpleNamespace(text=TEXTS[name])


def test_a_document_is_read_once_for_all_that_is_compared_with_it() -> None:
    """A long one takes a second, and a large graph has thousands of names that follow each other."""
    documents = Documents()
    quotes = Quotes(documents)  # type: ignore[arg-type]
    words = TEXTS["long.md"].lower().replace(".", "").split()
    for at in range(2, 8):
        assert quotes.cross(words[at - 2 : at], words[at : at + 3])
    assert quotes.cross(["the", "brass"], ["key", "behind", "the"])
    assert not quotes.cross(["the", "brass"], ["key", "is", "here"])
    assert not quotes.cross(["brass"], ["key"])
    assert max(documents.read.values()) == 1
