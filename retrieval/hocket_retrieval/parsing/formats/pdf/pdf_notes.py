"""Texts on a page of a pdf file beside its contents: notes, text that was typed on top, and fields of forms."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

_UNSEEN = 0x02 | 0x20  # flags: hidden, and not to be viewed
_TAG = re.compile(r"<[^<>]*>")
_MAX_OPTIONS = 1_000  # of a list that are looked at


class Note(NamedTuple):
    """A text; `is_drawn` where a program draws it on the page, so that it may stand in the page's own text."""

    text: str
    is_drawn: bool = True


def has_notes(page: PdfPage) -> bool:
    """Tell whether anything but links is attached to the page."""
    from pypdfium2.raw import FPDF_ANNOT_LINK, FPDFAnnot_GetSubtype

    return any(FPDFAnnot_GetSubtype(each) != FPDF_ANNOT_LINK for each in _annotations(page))


def notes_of(document: PdfDocument, page: PdfPage) -> list[Note]:
    """Return the text of each annotation of the page, in their order; nothing of those that are hidden."""
    from pypdfium2 import raw

    found = []
    for each in _annotations(page):
        kind = raw.FPDFAnnot_GetSubtype(each)
        if raw.FPDFAnnot_GetFlags(each) & _UNSEEN or kind == raw.FPDF_ANNOT_POPUP:  # which repeats its parent
            continue
        if kind == raw.FPDF_ANNOT_WIDGET:
            found += list(_field(document, each))
            continue
        said = _value(each, b"Contents") or unescape(_TAG.sub(" ", _value(each, b"RC"))).strip()
        if kind in (raw.FPDF_ANNOT_FREETEXT, raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_STAMP):
            found.append(Note(said))
        elif said:
            author = _value(each, b"T")
            found.append(Note(f"Comment by {author}: {said}" if author else f"Comment: {said}", is_drawn=False))
    return [note for note in found if note.text.strip()]


def files_on(page: PdfPage) -> list[str]:
    """Return the names of the files that are attached to the page."""
    from pypdfium2.raw import FPDFAnnot_GetFileAttachment, FPDFAttachment_GetName

    files = map(FPDFAnnot_GetFileAttachment, _annotations(page))
    return [_text(FPDFAttachment_GetName, each) for each in files if each]


def _annotations(page: PdfPage) -> Iterator[object]:
    from pypdfium2.raw import FPDFPage_CloseAnnot, FPDFPage_GetAnnot, FPDFPage_GetAnnotCount

    for at in range(FPDFPage_GetAnnotCount(page)):
        if annotation := FPDFPage_GetAnnot(page, at):
            try:
                yield annotation
            finally:
                FPDFPage_CloseAnnot(annotation)


def _field(document: PdfDocument, field: object) -> Iterator[Note]:
    """Yield the value of a form's field; of a list that shows all of its lines, and of a box, what was chosen."""
    from pypdfium2 import raw

    form = document.formenv
    kind = raw.FPDFAnnot_GetFormFieldType(form, field) if form else -1
    if kind < 0:
        yield Note(_value(field, b"V"))
        return
    name = _text(raw.FPDFAnnot_GetFormFieldAlternateName, form, field) or _text(
        raw.FPDFAnnot_GetFormFieldName, form, field
    )
    value = _text(raw.FPDFAnnot_GetFormFieldValue, form, field)
    if kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON):
        if raw.FPDFAnnot_IsChecked(form, field):
            yield Note(f"{name}: {value}", is_drawn=False)
    elif kind == raw.FPDF_FORMFIELD_LISTBOX:
        options = range(min(raw.FPDFAnnot_GetOptionCount(form, field), _MAX_OPTIONS))
        chosen = [
            _text(raw.FPDFAnnot_GetOptionLabel, form, field, at)
            for at in options
            if raw.FPDFAnnot_IsOptionSelected(form, field, at)
        ]
        yield Note(f"{name}: {', '.join(chosen)}" if chosen else "", is_drawn=False)
    elif kind in (raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX):
        yield Note(value)


def _value(annotation: object, key: bytes) -> str:
    from pypdfium2.raw import FPDFAnnot_GetStringValue

    return _text(FPDFAnnot_GetStringValue, annotation, key)


def _text(call: Callable[..., int], *told: object) -> str:
    """Return a text that PDFium writes as UTF-16 into a buffer of the length that it reports first."""
    from pypdfium2.raw import FPDF_WCHAR

    size = call(*told, None, 0)
    held = ctypes.create_string_buffer(size)
    call(*told, ctypes.cast(held, ctypes.POINTER(FPDF_WCHAR)), size)
    return held.raw.decode("utf-16-le", "replace").rstrip("\0").strip()
