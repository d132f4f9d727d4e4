"""A part of a Word file as it is shown: changes accepted, text boxes after their paragraphs, signs as text.

Otherwise the part stays as it was written. Its reader does none of this, and drops a paragraph in favour of its box.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.parsers import expat

from .xml_edits import Edits, Element, Span, walk

_SPACES = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w",
    "http://purl.oclc.org/ooxml/wordprocessingml/main": "w",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc",
}
_GONE = frozenset(("w:del", "w:moveFrom"))
_MARKS = {"w:trPr": _GONE, "w:tcPr": frozenset(("w:cellDel",))}  # which stand in what they take with them
_P, _BOX = "w:p", "w:txbxContent"
_SIGNS = (
    (re.compile(rb"<w:noBreakHyphen\s*/>"), b"<w:t>-</w:t>"),
    (re.compile(rb"<w:(?:cr|ptab)(?:\s[^<>]*)?/>"), b'<w:t xml:space="preserve"> </w:t>'),
)
_SYMBOL = re.compile(rb"<w:sym\s[^<>]*w:char=[\"']([0-9A-Fa-f]{4})[\"'][^<>]*/>")
_PRIVATE = range(0xF000, 0xF100)  # where fonts of signs have theirs
_KNOWN = {0xF0FC: "✓", 0xF0FB: "✗", 0xF0FE: "☑", 0xF0FD: "☒", 0xF078: "☒", 0xF0A8: "☐", 0xF06F: "☐", 0xF0B7: "•"}
_LIST = re.compile(rb"<w:fldChar\s[^<>]*>\s*<w:ffData\s*>(?:(?!</w:ffData>).)*?</w:ddList>", re.DOTALL)
_CHOSEN = re.compile(rb"<w:(?:result|default)\s[^<>]*w:val=[\"'](\d{1,4})[\"']")
_ENTRY = re.compile(rb"<w:listEntry\s[^<>]*w:val=[\"']([^\"'<>]*)[\"']")


def as_shown(part: bytes) -> bytes:
    """Return the part as it is printed; unchanged where it is damaged, which its reader reports."""
    try:
        part = _unboxed(_accepted(part))
    except expat.ExpatError:
        return part
    for pattern, text in _SIGNS:
        part = pattern.sub(text, part)
    return _LIST.sub(_with_choice, _SYMBOL.sub(_symbol, part))


def _symbol(found: re.Match[bytes]) -> bytes:
    code = int(found[1], 16)
    sign = _KNOWN.get(code, "") if code in _PRIVATE else chr(code)
    return f"<w:t>{sign}</w:t>".encode() if sign.isprintable() and sign not in "<>&" else b""


def _with_choice(found: re.Match[bytes]) -> bytes:
    """Put the chosen entry before a form's list: text within a field is not read."""
    entries, chosen = _ENTRY.findall(found[0]), _CHOSEN.search(found[0])
    at = int(chosen[1]) if chosen else 0
    return (b"<w:t>%b</w:t>" % entries[at] if at < len(entries) else b"") + found[0]


def _accepted(part: bytes) -> bytes:
    """Return a part without what was deleted or moved away; a paragraph whose end went joins the next."""
    edits, gone, heads = Edits(part), set[int](), dict[int, int]()
    open_end: tuple[Element, Span] | None = None  # of the last paragraph, where it goes on in the next

    def closed(stack: Sequence[Element], span: Span) -> None:
        nonlocal open_end
        element, outer = stack[-1], stack[-2] if len(stack) > 1 else stack[-1]
        if element.name in _MARKS.get(outer.name, ()):
            gone.add(stack[-3].start)
        if element.name == "w:pPr":
            heads[outer.start] = span.end
        if element.name == _P:
            if open_end and not part[open_end[1].end : element.start].strip():
                _join(open_end, element)
            open_end = (element, span) if element.start in gone else None
        elif element.name in _GONE and outer.name == "w:rPr" and len(stack) > 3 and stack[-3].name == "w:pPr":
            gone.add(stack[-4].start)
        elif element.name in _GONE or element.start in gone:
            edits.replace(element.start, span.end)

    def _join(first: tuple[Element, Span], second: Element) -> None:
        head = heads.get(second.start, second.inner)
        edits.replace(first[0].start, heads[first[0].start], part[second.start : head])
        edits.replace(first[1].inner, head)

    walk(part, _SPACES, closed)
    return edits.applied()


def _unboxed(part: bytes) -> bytes:
    """Return a part with each text box's paragraphs after the one that holds it, and one of two forms of a box."""
    edits, boxes, chosen = Edits(part), list[tuple[int, bytes]](), set[int]()

    def closed(stack: Sequence[Element], span: Span) -> None:
        element, around = stack[-1], [each.name for each in stack[:-1]]
        if element.name == _BOX and _P in around and _BOX not in around:
            alternatives = {each.start for each in stack if each.name == "mc:AlternateContent"}
            is_other = "mc:Fallback" in around and not chosen.isdisjoint(alternatives)
            chosen.update(alternatives)
            paragraph = stack[around.index(_P)].start
            boxes.append((paragraph, b"" if is_other else part[element.inner : span.inner]))
            edits.replace(element.inner, span.inner)
        elif element.name == _P and _P not in around:
            edits.replace(span.end, span.end, b"".join(box for start, box in boxes if start == element.start))

    walk(part, _SPACES, closed)
    return edits.applied()
