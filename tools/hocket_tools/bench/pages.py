"""Pages of WikiText: what is typed of one, its lead, and what the cloud may know of it, its other sections."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from hocket_bus.errors import BadRequest

from .corpora import Document, wikitext

LEAST_LEAD = 300  # characters of a lead that is worth typing
_HEADING = re.compile(r"(?m)^ ?= =.*$")
_MARKS = ((" @-@ ", "-"), (" @,@ ", ","), (" @.@ ", "."), (" 's", "'s"), (" n't", "n't"), ("( ", "("), (" )", ")"))
_BEFORE = re.compile(r" ([,.;:!?%])")
_QUOTED = re.compile(r'" ([^"]*) "')


class Page(NamedTuple):
    """A page as somebody would write it: its lead, and the rest of it."""

    name: str
    title: str
    lead: str
    rest: str


def pages(data: Path, split: str = "test") -> list[Page]:
    """The pages of a raw split of WikiText-2 that have a lead and more. Raises BadRequest where the corpus is not."""
    file = data / f"wikitext2/wiki.{split}.raw"
    if not file.is_file():
        raise BadRequest(f"no {file.name} under {file.parent}", "name the folder of the corpora with --data")
    found = map(_page, wikitext(file))
    return [page for page in found if len(page.lead) >= LEAST_LEAD and len(page.rest) >= LEAST_LEAD]


def written(text: str) -> str:
    """A corpus's tokens as prose: its marks of numbers and hyphens are taken back, and blanks before commas."""
    for mark, plain in _MARKS:
        text = text.replace(mark, plain)
    text = _QUOTED.sub(r'"\1"', _BEFORE.sub(r"\1", text))
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


def _page(article: Document) -> Page:
    lead, *sections = _HEADING.split(article.text)
    return Page(article.name.replace("/", "-"), article.title, written(lead), written("\n".join(sections)))
