"""Where the pages of a Word file end, as Word saw them when it was saved, and its tabs: marks in the text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .package import changed

BREAK = "\ue002"  # of the private area
_MAIN = "word/document.xml"
_SEEN = re.compile(rb"<w:lastRenderedPageBreak\s*/>")
_WANTED = re.compile(rb"<w:br\s[^<>]*w:type=[\"']page[\"'][^<>]*/>")
_TAB, _SPACE = re.compile(rb"<w:tab\s*/>"), b'<w:t xml:space="preserve"> </w:t>'  # the reader joins what it parts
_MARK = f"<w:t>{BREAK}</w:t>".encode()


def marked(data: bytes) -> bytes:
    """The file with the marks; as it is where nothing tells of pages. It may lack its pictures."""
    return changed(data, _marked)


def _marked(parts: Mapping[str, bytes]) -> Mapping[str, bytes]:
    main = parts[_MAIN]
    border = next((each for each in (_SEEN, _WANTED) if each.search(main)), None)
    new = _TAB.sub(_SPACE, border.sub(_MARK, main) if border else main)
    return {_MAIN: new} if new != main else {}
