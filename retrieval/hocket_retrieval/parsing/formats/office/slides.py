"""Slides of PowerPoint as they are shown: one form of what is there in several, and fields as text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from xml.parsers import expat

from ..packages.package import changed
from ..packages.xml_edits import Edits, Element, Span, walk

_SPACES = {"http://schemas.openxmlformats.org/markup-compatibility/2006": "mc"}
_SLIDE = re.compile(r"ppt/slides/[^/]+\.xml")
_FIELD = re.compile(rb"<a:fld\s(?![^<>]*type=[\"']slidenum)[^<>]*>((?:(?!</a:fld>).)*)</a:fld>", re.DOTALL)
_SAID = re.compile(rb"<a:t>[^<]")
_DEEPEST = 4  # forms within forms


def shown(data: bytes) -> bytes:
    """Return the file with its slides as they are shown. It may lack its pictures."""
    return changed(data, _slides)


def _slides(parts: Mapping[str, bytes]) -> Mapping[str, bytes]:
    new = {name: _slide(parts[name]) for name in parts if _SLIDE.fullmatch(name)}
    return {name: part for name, part in new.items() if part != parts[name]}


def _slide(part: bytes) -> bytes:
    for _ in range(_DEEPEST):
        try:
            part = _of_one_form(part)
        except expat.ExpatError:  # of which its reader tells
            return part
    return _FIELD.sub(rb"<a:r>\1</a:r>", part)


def _of_one_form(part: bytes) -> bytes:
    """Return a slide with one of several forms: for today's programs if it says something, else for older ones."""
    edits, forms = Edits(part), dict[int, list[bytes]]()

    def closed(stack: Sequence[Element], span: Span) -> None:
        element = stack[-1]
        if element.name in ("mc:Choice", "mc:Fallback"):
            forms.setdefault(stack[-2].start, []).append(part[element.inner : span.inner])
        elif element.name == "mc:AlternateContent":
            found = forms.get(element.start, [])
            edits.replace(element.start, span.end, next(filter(_SAID.search, found), found[-1] if found else b""))

    walk(part, _SPACES, closed)
    return edits.applied()
