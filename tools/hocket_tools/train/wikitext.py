"""WikiText's files: articles with the spacing that its makers put around punctuation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_ARTICLE = re.compile(r"(?m)^ = ([^=\n]+) = *$")
_JOINERS = ((" @-@ ", "-"), (" @,@ ", ","), (" @.@ ", "."))


class Document(NamedTuple):
    """A document of a corpus: a name of its own there, a title and plain text."""

    name: str
    title: str
    text: str


def wikitext(path: Path) -> Iterator[Document]:
    """The articles of a WikiText file."""
    parts = _ARTICLE.split(path.read_text(encoding="utf-8"))
    for number, (title, text) in enumerate(zip(parts[1::2], parts[2::2], strict=True)):
        yield Document(f"{path.name}/{number}", title.strip(), text.strip())


def plain(text: str) -> str:
    """Text without the spacing that WikiText puts around punctuation, as the bundled models have read it."""
    for old, new in _JOINERS:
        text = text.replace(old, new)
    text = re.sub(r" ([,.;:!?)\]%]|'s\b|n't\b)", r"\1", text)
    return re.sub(r"([(\[$£]) ", r"\1", text)
