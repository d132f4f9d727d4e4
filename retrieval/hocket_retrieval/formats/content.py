"""What a file says, and what went unread of it."""

from __future__ import annotations

from typing import NamedTuple


class Content(NamedTuple):
    """Paragraphs are separated by blank lines. `notice` is a line for people, empty where all was read."""

    title: str
    text: str
    notice: str = ""
