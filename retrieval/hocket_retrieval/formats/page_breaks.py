"""Where the pages of a Word file end, as Word saw them when it was saved: a mark in the text at each place."""

from __future__ import annotations

import io
import re
import zipfile

BREAK = "\ue002"  # of the private area
_MAIN = "word/document.xml"
_SEEN = re.compile(rb"<w:lastRenderedPageBreak\s*/>")
_WANTED = re.compile(rb"<w:br\s[^<>]*w:type=[\"']page[\"'][^<>]*/>")
_MARK = f"<w:t>{BREAK}</w:t>".encode()


def marked(data: bytes) -> bytes:
    """The file with the marks; as it is where nothing tells of pages. It may lack its pictures."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            main = package.read(_MAIN)
            border = next((each for each in (_SEEN, _WANTED) if each.search(main)), None)
            if border is None:
                return data
            parts = [name for name in package.namelist() if name.endswith((".xml", ".rels"))]
            return _zipped({name: package.read(name) for name in parts} | {_MAIN: border.sub(_MARK, main)})
    except (zipfile.BadZipFile, KeyError, NotImplementedError):  # the reader itself says what is wrong
        return data


def _zipped(parts: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as package:
        for name, part in parts.items():
            package.writestr(name, part)
    return out.getvalue()
