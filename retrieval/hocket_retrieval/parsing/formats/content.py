"""The text of a file, section by section, and a notice of what was not read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

MAX_SECTIONS = 20_000  # of one file; a reader looks for no more borders behind that many


class Section(NamedTuple):
    """A part of a text. Paragraphs are separated by blank lines.

    `place` says where in the file it stands, such as "p. 3, § Deposit". A `joined` one goes on in the last paragraph
    of the section before it.
    """

    text: str
    place: str = ""
    joined: bool = False


class Content(NamedTuple):
    """The title and the sections of a file. `notice` is a line for people, empty where all was read."""

    title: str
    sections: Sequence[Section]
    notice: str = ""


def below(place: str, sections: Iterable[Section]) -> Iterator[Section]:
    """The sections of a part of a file, such as an attachment, each with the part's own place before its place."""
    for section in sections:
        yield section._replace(place=listed(place, section.place))


def listed(*places: str) -> str:
    """Join those places that are known into one, from the largest on."""
    return ", ".join(filter(None, places))
