"""Real texts to type, and the texts that the cloud has read.

Of WikiText-2's held-out pages the lead is typed, and the cloud has read their other sections. Of mails and abstracts
the cloud has read all others, and never the one that is typed. No model is trained on them.
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
    """A text whose `lead` is typed; the cloud has read its `sections` or, if there are none, other texts."""

    name: str
    lead: str
    sections: str = ""

    def cut(self, share: float) -> tuple[str, str]:
        """Return the lead up to a word, with `share` of its words, and the rest; together they are the lead."""
        starts = [match.start() for match in re.finditer(r"\s\S", self.lead)]
        at = starts[min(len(starts) - 1, round(share * len(starts)))]
        return self.lead[:at], self.lead[at:]


@dataclass(frozen=True)
class Corpus:
    """The texts that are typed, and every text that the cloud has read, by name."""

    pages: Sequence[Page]
    read: Mapping[str, str]

    def first(self, count: int) -> Corpus:
        """Return the first texts, with nothing read but their own sections."""
        pages = self.pages[:count]
        return Corpus(pages, {page.name: page.sections for page in pages})

    def hidden(self, *pages: Page) -> set[str]:
        """Return the names of the texts that may not be remembered while these are typed."""
        return {page.name for page in pages if not page.sections}


def corpus(data: Path, kind: Kind, count: int) -> Corpus:
    """Return `count` texts to type, evenly drawn, and what the cloud reads. Raises BadRequest without the files."""
    if kind == "wikitext2":
        found = pages(data, count)
        return Corpus(found, {page.name: page.sections for page in found})
    texts = _texts(data, kind)
    fit = [Page(name, text) for name, text in texts.items() if MIN_LEAD <= len(text.split()) <= MAX_TEXT]
    return Corpus(_evenly(fit, count), texts)


def pages(data: Path, count: int) -> list[Page]:
    """Return `count` WikiText-2 pages, evenly drawn, with enough lead and sections. Raises BadRequest without files."""
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
    """Return the text of every mail, or every abstract, once, by name."""
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
