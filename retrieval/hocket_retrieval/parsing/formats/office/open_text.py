"""A text of OpenDocument as it is shown: boxes and shapes behind the paragraphs that they stand in, cells whole."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from xml.parsers import expat

from ..packages.package import changed
from ..packages.xml_edits import Edits, Element, Span, walk

_URN = "urn:oasis:names:tc:opendocument:xmlns:"
_SPACES = {f"{_URN}text:1.0": "text", f"{_URN}drawing:1.0": "draw", f"{_URN}table:1.0": "table"}
_CONTENT = "content.xml"
_BLOCKS = frozenset(("text:p", "text:h", "text:list", "table:table"))
_CELL = "table:table-cell"
_UNSAID = re.compile(rb"<(office:annotation|text:note-citation)(?=[\s>]).*?</\1>", re.DOTALL)
_BLANK = re.compile(rb"</text:(?:p|h|note)>|<text:(?:s|tab|line-break|note)(?=[\s/>])[^<>]*>")
_TAG = re.compile(rb"<[^<>]*>")
_IMAGE, _SHOWN = (
    re.compile(rb"<draw:image(?=[\s/>])([^<>]*?)/?>"),
    b"<text:p><draw:frame><draw:image%b/></draw:frame></text:p>",
)
_CHOICE = re.compile(rb"</?text:drop-down(?=[\s>])[^<>]*>|<text:label(?=[\s>/])[^<>]*>")


def shown(data: bytes) -> bytes:
    """Return the file with its text as it is shown. It may lack its pictures."""
    return changed(data, _shown)


def _shown(parts: Mapping[str, bytes]) -> Mapping[str, bytes]:
    content = parts[_CONTENT]
    try:
        new = _CHOICE.sub(b"", _plain_cells(_unboxed(content)))
    except expat.ExpatError:  # of which its reader tells
        return {}
    return {_CONTENT: new} if new != content else {}


def _unboxed(content: bytes) -> bytes:
    edits, boxes = Edits(content), dict[int, list[bytes]]()

    def closed(stack: Sequence[Element], span: Span) -> None:
        element, around = stack[-1], [each.name for each in stack[:-1]]
        drawn = next((at for at, name in enumerate(around) if name.startswith("draw:")), None)
        if drawn is None:
            held = boxes.pop(element.start, [])
            edits.replace(span.end, span.end, b"".join(held))
        elif element.name in _BLOCKS and _BLOCKS.isdisjoint(around[drawn:]):
            outer = next((each for each in stack[:drawn] if each.name in ("text:p", "text:h")), stack[drawn])
            boxes.setdefault(outer.start, []).append(content[element.start : span.end])
            edits.replace(element.start, span.end)

    walk(content, _SPACES, closed)
    return edits.applied()


def _plain_cells(content: bytes) -> bytes:
    """Return the text with each cell as one paragraph without marks: else its reader stops at the first mark."""
    edits = Edits(content)

    def closed(stack: Sequence[Element], span: Span) -> None:
        element = stack[-1]
        if element.name == _CELL and all(each.name != _CELL for each in stack[:-1]):
            inner = content[element.inner : span.inner]
            pictures = b"".join(_SHOWN % each for each in _IMAGE.findall(inner))
            text = _TAG.sub(b"", _BLANK.sub(b" ", _UNSAID.sub(b"", inner)))
            edits.replace(element.inner, span.inner, b"<text:p>%b</text:p>%b" % (text, pictures) if inner else b"")

    walk(content, _SPACES, closed)
    return edits.applied()
