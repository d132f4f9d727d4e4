"""AsciiDoc as it is written, with the headings above each part; markup is light enough to be read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..content import MAX_SECTIONS, Content, Section
from ..encodings import decoded
from ..headings import Headings

_HEADING = re.compile(r"(={1,6})[ \t]+(\S.*)")
_FENCE = re.compile(r"(-{4,}|\.{4,}|/{4,}|\+{4,}|```)\s*")
_ATTRIBUTE = re.compile(r"(?m)^:!?\w[\w-]*!?:.*\n|^//(?!/).*\n")


def asciidoc(data: bytes) -> Content:
    """The text from each heading on; without attributes and comments. Raises DocumentError."""
    sections = list(_sections(decoded(data).replace("\r\n", "\n")))
    title = next((section.place.removeprefix("§ ") for section in sections if section.place), "")
    return Content(title, sections)


def _sections(text: str) -> Iterator[Section]:
    headings, place, lines, fence, left = Headings(), "", list[str](), "", MAX_SECTIONS
    for line in _ATTRIBUTE.sub("", text).split("\n"):
        mark, heading = _FENCE.fullmatch(line), _HEADING.fullmatch(line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        elif heading and not fence and left:
            yield Section("\n".join(lines), place)
            headings.enter(len(heading[1]), heading[2])
            place, lines, left = headings.path, [heading[2], ""], left - 1
        else:
            lines.append(line)
    yield Section("\n".join(lines), place)
