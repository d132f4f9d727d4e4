"""The ends of a Word file's pages, as Word saw them when it was saved, and its tabs: marks in the text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .package import changed
from .tracked import as_shown

BREAK = "\ue002"  # of the private area
_MAIN, _NOTES = "word/document.xml", ("word/footnotes.xml", "word/endnotes.xml")
_SEEN = re.compile(rb"<w:lastRenderedPageBreak\s*/>")
_WANTED = re.compile(rb"<w:br\s[^<>]*w:type=[\"']page[\"'][^<>]*/>")
_TAB, _SPACE = re.compile(rb"<w:tab\s*/>"), b'<w:t xml:space="preserve"> </w:t>'  # the reader joins what it parts
_MARK = f"<w:t>{BREAK}</w:t>".encode()


def marked(data: bytes) -> bytes:
    """Return the file with the marks, and as its paper shows it. It may lack its pictures."""
    return changed(data, _marked)


def _marked(parts: Mapping[str, bytes]) -> Mapping[str, bytes]:
    shown = {name: as_shown(parts[name]) for name in (_MAIN, *_NOTES) if name == _MAIN or name in parts}
    main = shown[_MAIN]
    border = next((each for each in (_SEEN, _WANTED) if each.search(main)), None)
    new = {name: _TAB.sub(_SPACE, part) for name, part in shown.items()}
    new[_MAIN] = _TAB.sub(_SPACE, border.sub(_MARK, main) if border else main)
    return {name: part for name, part in new.items() if part != parts[name]}
