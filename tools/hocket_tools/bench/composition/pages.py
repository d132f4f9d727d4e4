"""WikiText-2's held-out pages: the lead is typed, the other sections are what the cloud has read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from hocket_bus.errors import BadRequest
from hocket_tools.bench.corpora import wikitext
from hocket_tools.bench.figures.text import plain

FILES = (Path("wikitext2/wiki.test.raw"), Path("wikitext2/wiki.valid.raw"))
LEAST_LEAD, LEAST_SECTIONS = 80, 200  # words
_HEADING = re.compile(r"(?m)^ *=( =)+ .*$")


@dataclass(frozen=True)
class Page:
    """A page of an encyclopedia."""

    name: str
    lead: str
    sections: str

    def cut(self, share: float) -> tuple[str, str]:
        """The lead up to a word, which `share` of its words stand before, and the rest; together they are the lead."""
        starts = [match.start() for match in re.finditer(r"\s\S", self.lead)]
        at = starts[min(len(starts) - 1, round(share * len(starts)))]
        return self.lead[:at], self.lead[at:]


def pages(data: Path, count: int) -> list[Page]:
    """So many of those with a lead and sections long enough, evenly drawn. Raises BadRequest without the corpus."""
    if missing := [file for file in FILES if not (data / file).is_file()]:
        raise BadRequest(f"no {missing[0]} under {data}", "name the folder of the corpora with --data")
    found = []
    for file in FILES:
        for document in wikitext(data / file):
            parts = _HEADING.split(document.text)[:: _HEADING.groups + 1]
            lead, sections = _clean(parts[0]), "\n\n".join(_clean(part) for part in parts[1:] if part.strip())
            if len(lead.split()) >= LEAST_LEAD and len(sections.split()) >= LEAST_SECTIONS:
                found.append(Page(document.name.replace("/", "-") + ".txt", lead, sections))
    return [found[at * len(found) // count] for at in range(count)] if count < len(found) else found


def _clean(text: str) -> str:
    return "\n".join(plain(line).strip() for line in text.strip().splitlines() if line.strip())
