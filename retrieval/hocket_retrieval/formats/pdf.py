"""Pdf files by PDFium: their text page by page, with what forms are filled in with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..errors import DocumentError
from .content import Content

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

_PASSWORD = "password"
_AT_LINE_END = re.compile("\ufffe(?=(.?))")  # PDFium's mark where a word goes on behind a line's hyphen


def pdf(data: bytes) -> Content:
    """The words of all pages. Raises DocumentError where a password is needed."""
    from pypdfium2 import PdfDocument, PdfiumError
    from pypdfium2.raw import FORMTYPE_NONE

    try:
        document = PdfDocument(data)
    except PdfiumError as error:
        if _PASSWORD in str(error).lower():
            raise DocumentError("is protected by a password", "save it without one") from error
        raise
    has_form = document.get_formtype() != FORMTYPE_NONE
    if has_form:
        document.init_forms()
    pages = [_page(document, number, has_form) for number in range(len(document))]
    empty = sum(not page.strip() for page in pages)
    notice = f"{empty} of {len(pages)} pages hold no text: a scan needs text recognition (OCR) first" if empty else ""
    return Content(document.get_metadata_dict().get("Title", ""), "\n\n".join(pages), notice)


def _page(document: PdfDocument, number: int, has_form: bool) -> str:
    page = document[number]
    if has_form:  # what it is filled in with becomes text of the page
        page.flatten()
        page = document[number]
    text: str = page.get_textpage().get_text_range()
    return _AT_LINE_END.sub(lambda end: "" if end[1].islower() else "-", text)
