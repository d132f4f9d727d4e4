"""The commands of docs/systemd.md, read from the page itself, so that what is tested is what people type."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "systemd.md"
_FENCED = re.compile(r"(?ms)^(?P<indent> *)```\n(?P<lines>.*?)^(?P=indent)```$")


class Block(NamedTuple):
    """A fenced block under a heading."""

    heading: str
    lines: str


def blocks(text: str) -> list[Block]:
    """Every fenced block of a page, in order."""
    sections = re.split(r"(?m)^## ", text)
    return [
        Block(section.partition("\n")[0], textwrap.dedent(found["lines"]))
        for section in sections
        for found in _FENCED.finditer(section)
    ]


def block(heading: str, part: str) -> str:
    """The one block under a heading that has a part."""
    page = PAGE.read_text(encoding="utf-8")
    (found,) = [each.lines for each in blocks(page) if each.heading == heading and part in each.lines]
    return found


def packages() -> str:
    """The line of the page that installs packages of the system."""
    (line,) = re.findall(r"(?m)^apt-get install .*$", block("Install", "apt-get install"))
    return str(line)
