"""Rules of what may leave in a summary: no personal numbers, nothing that too few documents hold, no quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..stores.protocol import Moment
from ..text.lexical import whole_words
from .tables import NamedEntity

QUOTE_WORDS = 5  # that a document has in a row
_HELD_CHARS = 1 << 25  # of documents that are compared with quotes
_YEAR = re.compile(r"(?:19|20)\d\d")


def may_leave(text: str) -> bool:
    """Tell whether a name or term is shorter than a quote and has no address, phone, account or plate number in it.

    It may hold one number: a year, or one or two digits, beside a word that is not all capitals.
    """
    if "@" in text or "://" in text or len(whole_words(text)) >= QUOTE_WORDS:
        return False
    numbers = re.findall(r"\d+", text)
    if not numbers:
        return True
    has_word = any(len(word) > 2 and not word.isupper() for word in re.findall(r"[^\W\d_]+", text))
    return len(numbers) == 1 and has_word and (len(numbers[0]) <= 2 or _YEAR.fullmatch(numbers[0]) is not None)


def shareable(named_entities: Iterable[NamedEntity], min_documents: int) -> list[NamedEntity]:
    """Return the entities that may be named outside the device, of at least `min_documents` documents."""
    return [each for each in named_entities if each.documents >= min_documents and may_leave(each.text)]


class Quotes:
    """A check for quotes: QUOTE_WORDS words in a row that a document has, too."""

    def __init__(self, moment: Moment) -> None:
        self._moment = moment
        self._with: dict[tuple[str, str], list[str]] = {}  # by two words: the documents with these in a row
        self._texts: dict[str, str] = {}  # of documents: their words, with single spaces around each

    def cross(self, before: Sequence[str], behind: Sequence[str]) -> bool:
        """Tell whether a quote begins in the words `before` and ends in the words `behind`, which follow them."""
        last, first = before[1 - QUOTE_WORDS :], behind[: QUOTE_WORDS - 1]
        run = [*last, *first]
        windows = [run[at : at + QUOTE_WORDS] for at in range(len(run) - QUOTE_WORDS + 1)]
        if not windows:
            return False
        two = last[-1], first[0]
        if two not in self._with:
            self._with[two] = list(self._moment.documents_with(*two))
        sought = [f" {' '.join(window)} " for window in windows]
        return any(window in text for text in map(self._text, self._with[two]) for window in sought)

    def _text(self, name: str) -> str:
        """Return a document's words; read once for all questions about it, as a long one takes a second."""
        if name not in self._texts:
            if sum(map(len, self._texts.values())) > _HELD_CHARS:
                self._texts.clear()
            document = self._moment.document(name)
            self._texts[name] = f" {' '.join(whole_words(document.text))} " if document else ""
        return self._texts[name]
