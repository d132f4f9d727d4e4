"""Documents of a folder as sections: each is typed by somebody, and the others are what the cloud has read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hocket_bus.errors import BadRequest
from hocket_retrieval.text.chunking import chunk, sentences
from hocket_tools.train.wikitext import plain, wikitext

WIKITEXT = "wiki.train.tokens"  # of WikiText's files the only one that may be learned from
SUFFIXES = (".txt", ".md")
MINIMUM, MAXIMUM = 60, 200  # words of a section
_UNKNOWN = "<unk>"


class Section(NamedTuple):
    """A part of a document; sections of all documents have different names."""

    name: str
    text: str


def sections(folder: Path) -> list[Section]:
    """Return the sections of WikiText's training file and of all .txt and .md files below `folder`.

    Raises BadRequest where there are none.
    """
    found = [
        Section(f"{name}#{number}", part)
        for name, text in _documents(folder)
        for number, part in enumerate(chunk(text, MAXIMUM))
        if len(part.split()) >= MINIMUM
    ]
    if not found:
        raise BadRequest(
            f"no documents to learn from in {folder}", f"put .txt or .md files there, or WikiText's {WIKITEXT}"
        )
    return found


def _documents(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.name == WIKITEXT:
            for page in wikitext(path):
                yield f"{name}/{page.name}", "\n".join(_prose(page.text))
        elif path.suffix in SUFFIXES and path.is_file():
            yield name, path.read_text(encoding="utf-8-sig", errors="replace")


def _prose(page: str) -> Iterator[str]:
    """The paragraphs of a page, without headings and without sentences that lack a word."""
    for line in page.splitlines():
        text = plain(line).strip()
        if text and not text.startswith("="):
            whole = (text[start:end].strip() for start, end in sentences(text))
            yield " ".join(sentence for sentence in whole if _UNKNOWN not in sentence)
