"""Notebooks of Jupyter: the text, the code, what it printed, and the pictures that it drew."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from binascii import Error
from collections.abc import Iterator
from typing import Any

from ..content import Content
from ..encodings import decoded
from ..pictures.embedded import Pictures
from .markdown import markdown

_COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
_FENCE = "~" * 12  # of more signs than any that stands in a cell
_PICTURES = ("image/png", "image/jpeg")


def notebook(data: bytes, pictures: Pictures) -> Content:
    """Read all cells in their order; headings count for later cells, too. Raises ValueError, TypeError, KeyError."""
    cells = json.loads(decoded(data))["cells"]
    found = markdown("\n\n".join(part for cell in cells for part in _parts(cell)).encode())
    drawn = [
        pictures.section(picture, f"cell {number}")
        for number, cell in enumerate(cells, 1)
        for output in cell.get("outputs", ())
        for picture in _drawn(output.get("data", {}))
    ]
    return Content(found.title, [*found.sections, *drawn])


def _parts(cell: dict[str, Any]) -> Iterator[str]:
    """Yield a cell as Markdown: its source, then its outputs."""
    source = _joined(cell.get("source", ""))
    yield source if cell["cell_type"] == "markdown" else _as_code(source)
    for output in cell.get("outputs", ()):
        text = output.get("text") or output.get("data", {}).get("text/plain") or output.get("traceback") or ""
        yield _as_code(_COLOUR.sub("", _joined(text)))


def _as_code(text: str) -> str:
    return f"{_FENCE}\n{text}\n{_FENCE}" if text.strip() else ""


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)


def _drawn(data: dict[str, Any]) -> Iterator[bytes]:
    for kind in _PICTURES:
        try:
            yield b64decode(_joined(data.get(kind, "")))
        except Error:
            continue
