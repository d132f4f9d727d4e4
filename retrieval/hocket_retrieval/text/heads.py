"""The head of a passage: the names of its file, its title and the headings that it stands under. Pure.

A note that is named after somebody need not say the name again. So a passage is read by a model below its head, and
found by the words of all names above it. It is embedded by itself: a name in each vector pulls all passages of a file
to one point (lab log). A head depends on no question, and what was computed of a passage can be kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import NamedTuple, Protocol

_WORD = re.compile(r"[^\W_]+")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d")
_HEADINGS = "§ "
_BETWEEN = " › "


class HasNames(Protocol):
    """A text, its place in its document, such as "p. 3, § Deposit", and the document's name and title."""

    @property
    def document(self) -> str:
        """Return the document's name, a path where it is a file's."""

    @property
    def title(self) -> str:
        """Return the document's title."""

    @property
    def place(self) -> str:
        """Return the place; empty where nothing is known."""

    @property
    def text(self) -> str:
        """The text itself."""


class Placed(NamedTuple):
    """A passage that consists of a text and its names alone."""

    document: str
    title: str
    place: str
    text: str


def headed(passage: HasNames) -> str:
    """A passage as a model reads it: below those of its names that it does not begin with."""
    names = [PurePath(passage.document).stem, passage.title, *_headings(passage.place)]
    said = _words(passage.text[: sum(map(len, names)) + len(names)])
    head = _BETWEEN.join(_new(names, said))
    return f"{head}: {passage.text}" if head else passage.text


def searched(passage: HasNames) -> str:
    """The words by which a passage is found: its own, and behind them those of the names above it."""
    return "\n".join(filter(None, [passage.text, above(passage)]))


def above(passage: HasNames) -> str:
    """The names of a passage's folder, file, title and headings, one a line."""
    path = PurePath(passage.document)
    names = [path.parent.name, path.stem, passage.title, *_headings(passage.place)]
    return "\n".join(filter(None, dict.fromkeys(names)))


def _headings(place: str) -> list[str]:
    return place.partition(_HEADINGS)[2].split(_BETWEEN)


def _new(names: list[str], said: set[str]) -> Iterator[str]:
    """Names with a word that neither `said` nor a name before them has."""
    for name in names:
        words = _telling(name)
        if not words <= said:
            yield name
            said |= words


def _telling(name: str) -> set[str]:
    """Return a name's words, but for single characters; none where all are numbers, unless a year is among them."""
    words = {word for word in _words(name) if len(word) > 1}
    return words if _YEAR.search(name) or not all(map(str.isdigit, words)) else set()


def _words(text: str) -> set[str]:
    return {*_WORD.findall(text.casefold())}
