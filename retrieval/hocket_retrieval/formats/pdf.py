"""Pdf files by PDFium: their text page by page, with what forms are filled in with, and the headings of bookmarks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from ..errors import DocumentError
from .content import MAX_SECTIONS, Content, Section, listed
from .headings import Headings
from .recognition import MAX_SIDE, MISSING, RECOGNISED, REMEDY, Recognise

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdfium2 import PdfDocument

_PASSWORD = "password"
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
    has_form = document.get_formtype() != FORMTYPE_NONE
    if has_form:
        document.init_forms()
    pages = [_page(document, number, has_form) for number in range(len(document))]
    scans = [number for number, page in enumerate(pages) if not page.strip() and _has_drawings(document, number)]
    if recognise:
        for number in scans:
            pages[number] = recognise(partial(_drawn, document, number))
    notice = _notice(pages, scans, is_missing=recognise is None)
    sections = list(_sections(pages, _bookmarks(document)))
    return Content(document.get_metadata_dict().get("Title", ""), sections, notice)


def _page(document: PdfDocument, number: int, has_form: bool) -> str:
    page = document[number]
    if has_form:  # what it is filled in with becomes text of the page
        page.flatten()
        page = document[number]
    text: str = page.get_textpage().get_text_range()
    return _AT_LINE_END.sub(lambda end: "" if end[1].islower() else "-", text)


def _has_drawings(document: PdfDocument, number: int) -> bool:
    return any(True for _ in document[number].get_objects(max_depth=1))


def _drawn(document: PdfDocument, number: int) -> Image:
    page = document[number]
    scale = min(_DOTS_PER_POINT, MAX_SIDE / max(page.get_size()))
    image: Image = page.render(scale=scale, rev_byteorder=True).to_pil()
    return image.convert("RGB")


def _notice(pages: Sequence[str], scans: Sequence[int], *, is_missing: bool) -> str:
    """What to know of the pages that have no text of their own; of those the `scans` show something."""
    recognised = sum(bool(pages[number].strip()) for number in scans)
    lines = []
    if unread := sum(not page.strip() for page in pages):
        remedy = f", and {MISSING}: {REMEDY}" if is_missing and scans else ""
        lines.append(f"{unread} of {len(pages)} pages hold no text{remedy}")
    if recognised:
        lines.append(f"{recognised} of {len(pages)} pages are {RECOGNISED}")
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
    """A section for each page, and one from each heading on; one that a page does not show counts from the next on."""
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
    """A heading at the start of a line, wherever lines end in it, and with its number where it has one."""
    words = r"\s+".join(map(re.escape, text.split()[:20]))
    return re.compile(rf"(?m)^(?:[\dA-Z][\d.]{{0,12}}[^\S\n]+)?{words}", re.IGNORECASE)
