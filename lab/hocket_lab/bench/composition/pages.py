"""Real texts to be typed, and what the cloud has read meanwhile.

Of WikiText-2's held-out pages the lead is typed, and the cloud has read their other sections. Of mails and abstracts
the cloud has read all others, and never the one that is typed. Nothing here is learned from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hocket_lab.bench.questions.corpora import json_lines
from hocket_lab.data_folder import require
from hocket_tools.train.wikitext import plain, wikitext

Kind = Literal["wikitext2", "enron", "nih"]
FILES = (Path("wikitext2/wiki.test.raw"), Path("wikitext2/wiki.valid.raw"))
MAILS = (Path("comp_enron_aeslc/dev.jsonl"), Path("comp_enron_aeslc/test.jsonl"))
ABSTRACTS = (Path("comp_nih_exporter/nih_sample_100.jsonl"),)
FILES_OF: Mapping[Kind, Sequence[Path]] = {"wikitext2": FILES, "enron": MAILS, "nih": ABSTRACTS}
MIN_LEAD, MIN_SECTIONS = 80, 200  # words
MAX_TEXT = 400  # words of a mail or an abstract that is typed
_HEADING = re.compile(r"(?m)^ *=( =)+ .*$")


@dataclass(frozen=True)
class Page:
    """`lead` is what is typed; the cloud has read `sections`, or, where there are none, other texts than this one."""

    name: str
    lead: str
    sections: str = ""

    def cut(self, share: float) -> tuple[str, str]:
        """The lead up to a word, which `share` of its words stand before, and the rest; together they are the lead."""
        starts = [match.start() for match in re.finditer(r"\s\S", self.lead)]
        at = starts[min(len(starts) - 1, round(share * len(starts)))]
        return self.lead[:at], self.lead[at:]


@dataclass(frozen=True)
class Corpus:
    """The texts that are typed, and every text that the cloud has read, by name."""

    pages: Sequence[Page]
    read: Mapping[str, str]

    def first(self, count: int) -> Corpus:
        """The first texts, and nothing read but their own sections."""
        pages = self.pages[:count]
        return Corpus(pages, {page.name: page.sections for page in pages})

    def hidden(self, *pages: Page) -> set[str]:
        """What may not be remembered while these are typed."""
        return {page.name for page in pages if not page.sections}


def corpus(data: Path, kind: Kind, count: int) -> Corpus:
    """So many texts to be typed, evenly drawn. Raises BadRequest without the files."""
    if kind == "wikitext2":
        found = pages(data, count)
        return Corpus(found, {page.name: page.sections for page in found})
    texts = _texts(data, kind)
    fit = [Page(name, text) for name, text in texts.items() if MIN_LEAD <= len(text.split()) <= MAX_TEXT]
    return Corpus(_evenly(fit, count), texts)


def pages(data: Path, count: int) -> list[Page]:
    """So many of WikiText-2's with enough of lead and sections, evenly drawn. Raises BadRequest without the files."""
    require(data, *FILES)
    found = []
    for file in FILES:
        for document in wikitext(data / file):
            parts = _HEADING.split(document.text)[:: _HEADING.groups + 1]
            lead, sections = _clean(parts[0]), "\n\n".join(_clean(part) for part in parts[1:] if part.strip())
            if len(lead.split()) >= MIN_LEAD and len(sections.split()) >= MIN_SECTIONS:
                found.append(Page(document.name.replace("/", "-") + ".txt", lead, sections))
    return _evenly(found, count)


def _texts(data: Path, kind: Kind) -> dict[str, str]:
    """Every mail, or every abstract, once."""
    name, text = ("id", "body") if kind == "enron" else ("application_id", "abstract_text")
    require(data, *FILES_OF[kind])
    rows = (row for file in FILES_OF[kind] for row in json_lines(data / file))
    found = {_tidy(row[text]): f"{kind}-{row[name]}.txt" for row in rows if row[text].strip()}
    return {name: text for text, name in found.items()}


def _evenly(found: list[Page], count: int) -> list[Page]:
    return [found[at * len(found) // count] for at in range(count)] if count < len(found) else found


def _tidy(text: str) -> str:
    return "\n".join(line for each in text.splitlines() if (line := " ".join(each.split())))


def _clean(text: str) -> str:
    return "\n".join(plain(line).strip() for line in text.strip().splitlines() if line.strip())
