"""What programs of an office write, and whatever else the library kreuzberg reads; it goes on as xberg."""

from __future__ import annotations

import re

from .content import Content
from .table import piped

TYPES = {
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".ods": "application/vnd.oasis.opendocument.spreadsheet",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".rtf": "application/rtf",
    ".epub": "application/epub+zip",
    ".ipynb": "application/x-ipynb+json",
    ".org": "text/x-org",
    ".rst": "text/x-rst",
    ".tex": "application/x-latex",
}


_HEADING = re.compile(r"(?m)^#{1,6} (.*)$")
_TABLE = re.compile(r"(?m)^\|.*\|$(?:\n\|.*\|$)*")


def office(data: bytes, suffix: str) -> Content:
    """The words of a file of one of TYPES, tracked changes as accepted, without headers, footers and comments."""
    from kreuzberg import ExtractionConfig, extract_bytes_sync

    # Of its formats djot alone has headings and tables, and leaves all other signs as they were written.
    found = extract_bytes_sync(data, TYPES[suffix], ExtractionConfig(use_cache=False, output_format="djot"))
    title, heading = found.metadata.get("title"), _HEADING.search(found.content)
    tables = _TABLE.sub(lambda table: piped(table[0].split("\n")), found.content)
    named = title if isinstance(title, str) and title else heading[1] if heading else ""
    return Content(named, _HEADING.sub(r"\1", tables))
