"""Pdf files by PDFium: their text page by page, with what forms are filled in with, and the headings of bookmarks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ....errors import DocumentError
from ..content import MAX_SECTIONS, Content, Section, listed
from ..headings import Headings
from ..pictures.recognition import MAX_SIDE, MISSING, RECOGNISED, REMEDY, Recognise
from . import xfa
from .pdf_notes import Note, files_on, has_notes, notes_of

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdfium2 import PdfDocument, PdfPage

_PASSWORD = "password"
_DYNAMIC = "an XFA form, which only Adobe's programs show, is not read: print it to a PDF file there"
_SEARCHED = 20_000  # characters of a page in which a heading is looked for
_MAX_ON_PAGE = 64
_DOTS_PER_POINT = 200 / 72
_AT_LINE_END = re.compile("\ufffe(?=(.?))")  # PDFium's mark where a word goes on behind a line's hyphen


def pdf(data: bytes, recognise: Recognise | None = None) -> Content:
    """The words of all pages, of scanned ones those that are recognised. Raises DocumentError for a password."""
    from pypdfium2 import PdfDocument, PdfiumError
    from pypdfium2.raw import FORMTYPE_NONE

    try:
        document = PdfDocument(data)
    except PdfiumError as error:
        if _PASSWORD in str(error).lower():
            raise DocumentError("is protected by a password", "save it without one") from error
        raise
    if document.get_formtype() != FORMTYPE_NONE:
        document.init_forms()
    read = [_page(document, number) for number in range(len(document))]
    pages, scans = [page.text for page in read], [number for number, page in enumerate(read) if page.is_scan]
    if recognise:
        for number in scans:
            pages[number] = recognise(partial(_drawn, document, number)) or pages[number]
    files = [document.get_attachment(at).get_name() for at in range(document.count_attachments())]
    files += [file for page in read for file in page.files]
    notice = _notice(pages, scans, files, is_missing=recognise is None)
    noted = [_with_notes(text, page) for text, page in zip(pages, read, strict=True)]
    sections = list(_sections(noted, _bookmarks(document)))
    if xfa.is_dynamic(document):
        form = xfa.form(document)
        sections.insert(0, Section(form, "form"))
        notice = "; ".join(filter(None, ("" if form else _DYNAMIC, notice)))
    return Content(document.get_metadata_dict().get("Title", ""), sections, notice)


class _Page(NamedTuple):
    """A page: the text that it shows, the text of its contents alone, the notes on it, and names of files.

    A page that is a scan shows something, and its contents hold no text.
    """

    text: str
    own: str
    notes: Sequence[Note]
    files: Sequence[str]
    is_scan: bool


def _page(document: PdfDocument, number: int) -> _Page:
    from pypdfium2.raw import FLAT_NORMALDISPLAY, FPDFPage_Flatten

    page = document[number]
    own = text = _text(page)
    is_scan = not own.strip() and _has_drawings(page)
    notes, files = notes_of(document, page), files_on(page)
    if has_notes(page):  # how they are drawn becomes a part of the page
        FPDFPage_Flatten(page, FLAT_NORMALDISPLAY)
        text = _text(document[number])
    return _Page(text, own, notes, files, is_scan)


def _text(page: PdfPage) -> str:
    text: str = page.get_textpage().get_text_range()
    return _AT_LINE_END.sub(lambda end: "" if end[1].islower() else "-", text)


def _with_notes(text: str, page: _Page) -> str:
    """Return the text of a page, and after it the notes on it that are not drawn there."""
    shown, own = _letters(text), _letters(page.own)
    missing = [note.text for note in page.notes if not (note.is_drawn and _is_in(_letters(note.text), shown, own))]
    return "\n\n".join(filter(None, [text, *dict.fromkeys(missing)]))


def _is_in(note: str, shown: str, own: str) -> bool:
    return not note or shown.count(note) > own.count(note)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _has_drawings(page: PdfPage) -> bool:
    return any(True for _ in page.get_objects(max_depth=1))


def _drawn(document: PdfDocument, number: int) -> Image:
    page = document[number]
    scale = min(_DOTS_PER_POINT, MAX_SIDE / max(page.get_size()))
    image: Image = page.render(scale=scale, rev_byteorder=True).to_pil()
    return image.convert("RGB")


def _notice(pages: Sequence[str], scans: Sequence[int], files: Sequence[str], *, is_missing: bool) -> str:
    """Return a notice of pages without text, of which the `scans` show something, and of attached `files`."""
    recognised = sum(bool(pages[number].strip()) for number in scans)
    lines = []
    if unread := sum(not page.strip() for page in pages):
        remedy = f", and {MISSING}: {REMEDY}" if is_missing and scans else ""
        lines.append(f"{unread} of {len(pages)} pages hold no text{remedy}")
    if recognised:
        lines.append(f"{recognised} of {len(pages)} pages are {RECOGNISED}")
    if files:
        lines.append(f"attached files that are not read: {', '.join(dict.fromkeys(files))}")
    return "; ".join(lines)


def _bookmarks(document: PdfDocument) -> dict[int, list[tuple[int, str]]]:
    """(level, heading) of the document's outline, by the number of the page that it leads to."""
    found: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for bookmark in islice(document.get_toc(), MAX_SECTIONS):
        target = bookmark.get_dest()
        number = target.get_index() if target is not None else None
        if number is not None and len(found[number]) < _MAX_ON_PAGE:
            found[number].append((bookmark.level, bookmark.get_title()))
    return found


def _sections(pages: Sequence[str], bookmarks: Mapping[int, Sequence[tuple[int, str]]]) -> Iterator[Section]:
    """Yield a section for each page and from each heading on; one that its page lacks counts from the next page."""
    headings = Headings()
    for number, page in enumerate(pages):
        start, label = 0, f"p. {number + 1}"
        place = listed(label, headings.path)
        for level, heading in bookmarks.get(number, ()):
            shown = _heading(heading).search(page, start, _SEARCHED) if heading.strip() else None
            headings.enter(level, shown[0] if shown else heading)
            if shown:
                yield Section(page[start : shown.start()], place)
                start, place = shown.start(), listed(label, headings.path)
        yield Section(page[start:], place)


def _heading(text: str) -> re.Pattern[str]:
    """Return a pattern for a heading at the start of a line, wherever lines end in it, with or without a number."""
    words = r"\s+".join(map(re.escape, text.split()[:20]))
    return re.compile(rf"(?m)^(?:[\dA-Z][\d.]{{0,12}}[^\S\n]+)?{words}", re.IGNORECASE)
