"""An outline as text, for stores that keep it in one column."""

from __future__ import annotations

import json

from .records import Outline


def outline_text(outline: Outline) -> str:
    """An outline as it is stored."""
    return json.dumps(outline, ensure_ascii=False) if outline else ""


def outline_of(text: str) -> Outline:
    """The outline of a stored text."""
    return tuple((offset, place) for offset, place in json.loads(text)) if text else ()
