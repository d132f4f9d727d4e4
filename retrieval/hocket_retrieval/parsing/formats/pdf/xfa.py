"""Forms in a pdf file that only Adobe's programs draw (XFA): what is printed on them, and what is filled in."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

_PRINTED, _FILLED = "template", "datasets"
_TEXTS = ("text", "exData")
MAX_BYTES = 16 << 20  # of a packet


def is_dynamic(document: PdfDocument) -> bool:
    """Tell whether a document's pages only say that another program is needed."""
    from pypdfium2.raw import FORMTYPE_XFA_FULL

    return bool(document.get_formtype() == FORMTYPE_XFA_FULL)


def form(document: PdfDocument) -> str:
    """Return a form's texts, one a line, then `name: value` of each field with a value; empty where there is none."""
    packets = dict(_packets(document))
    printed, filled = (_parsed(packets.get(name, b"")) for name in (_PRINTED, _FILLED))
    lines = [_words(each) for each in printed.iter() if _name(each) in _TEXTS]
    lines += [f"{_name(each)}: {_words(each)}" for each in filled.iter() if not len(each) and _words(each)]
    return "\n".join(filter(None, dict.fromkeys(lines)))


def _packets(document: PdfDocument) -> Iterator[tuple[str, bytes]]:
    from pypdfium2.raw import FPDF_GetXFAPacketContent, FPDF_GetXFAPacketCount, FPDF_GetXFAPacketName

    for at in range(max(0, FPDF_GetXFAPacketCount(document))):
        size = FPDF_GetXFAPacketName(document, at, None, 0)
        name = ctypes.create_string_buffer(size)
        FPDF_GetXFAPacketName(document, at, name, size)
        needed = ctypes.c_ulong()
        FPDF_GetXFAPacketContent(document, at, None, 0, ctypes.byref(needed))
        if 0 < needed.value <= MAX_BYTES:
            content = ctypes.create_string_buffer(needed.value)
            FPDF_GetXFAPacketContent(document, at, content, needed.value, ctypes.byref(needed))
            yield name.value.decode("utf-8", "replace"), content.raw


def _parsed(packet: bytes) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(packet)
    except ElementTree.ParseError:
        return ElementTree.Element("none")


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _words(element: ElementTree.Element) -> str:
    return " ".join("".join(element.itertext()).split())
