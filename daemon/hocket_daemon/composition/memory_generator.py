"""Key takeaways that a language model writes (HybridRAG §3.3.2, Table 1): its prompt, and what is believed of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hocket_bus.messages import Passage, Takeaway

_ASKED = (
    "Generate a list of key takeaways in complete sentences for each paragraph one by one, containing all the details "
    "such as entities, persons, organizations, numbers, years, and locations.\n"
)
_HEAD = re.compile(r"(?m)^#+ *P(\d+):?")
_POINT = re.compile(r"(?m)^ *[-*•] *(\S.*?)\s*$")
_DETAIL = re.compile(r"(?<!^)\b[A-Z]\w+|\w*\d[\w.,]*\w|\d")
WORDS = range(4, 61)  # of a takeaway
TOKENS = 80  # that a paragraph's takeaways may have


def question(passages: Sequence[Passage]) -> str:
    """Return the prompt for all passages at once."""
    paragraphs = (f"P{number}: {' '.join(each.text.split())}\n" for number, each in enumerate(passages, start=1))
    return f"{_ASKED}{''.join(paragraphs)}Key Takeaways: ### P1:\n"


def believed(written: str, passages: Sequence[Passage], maximum: int) -> list[Takeaway]:
    """Return the takeaways in a model's text that are sentences and have no name and no number but their passage's.

    Those of the first passage come first; a text without usable sentences gives none.
    """
    found: dict[str, Takeaway] = {}
    for passage, part in _parts(written, passages):
        for point in _POINT.finditer(part):
            if _is_of(point[1], passage.text):
                found.setdefault(point[1], Takeaway(text=point[1], document=passage.document))
    return list(found.values())[:maximum]


def _parts(written: str, passages: Sequence[Passage]) -> Iterator[tuple[Passage, str]]:
    """Yield each passage and its part of the text; the first one's heading is in the prompt."""
    heads = list(_HEAD.finditer(written))
    yield passages[0], written[: heads[0].start() if heads else None]
    for at, head in enumerate(heads):
        number = int(head[1])
        end = heads[at + 1].start() if at + 1 < len(heads) else len(written)
        if 1 <= number <= len(passages):
            yield passages[number - 1], written[head.end() : end]


def _is_of(takeaway: str, passage: str) -> bool:
    if len(takeaway.split()) not in WORDS or takeaway[-1] not in ".!?":
        return False
    return all(detail.lower() in passage.lower() for detail in _DETAIL.findall(takeaway))
