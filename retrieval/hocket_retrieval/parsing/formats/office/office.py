"""Files of office programs, and whatever else the library kreuzberg reads; it is continued as xberg."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ..content import MAX_SECTIONS, Content, Section, listed
from ..headings import Headings
from ..markup.djot import unmarked
from ..markup.org import outline
from ..markup.tex import document
from ..packages.media import Media
from ..packages.open_document import as_text, packaged
from ..packages.page_breaks import BREAK, marked
from ..pictures.embedded import Pictures
from ..sheets.table import piped
from . import open_text, slides

if TYPE_CHECKING:
    from kreuzberg import ExtractionResult

_OPEN_TEXT = "application/vnd.oasis.opendocument.text"
TYPES = {
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".docm": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".pptm": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".odt": _OPEN_TEXT,
    ".fodt": _OPEN_TEXT,
    ".odp": _OPEN_TEXT,
    ".fb2": "application/x-fictionbook+xml",
    ".rtf": "application/rtf",
    ".epub": "application/epub+zip",
    ".org": "text/x-org",
    ".rst": "text/x-rst",
    ".tex": "application/x-latex",
}
_PREPARED: Mapping[str, Callable[[bytes], bytes]] = {
    ".docx": marked,
    ".docm": marked,
    ".pptx": slides.shown,
    ".pptm": slides.shown,
    ".odt": open_text.shown,
    ".fodt": lambda data: open_text.shown(packaged(data, kind="text")),
    ".odp": lambda data: open_text.shown(as_text(data)),
    ".org": outline,
    ".tex": document,
}
_SLIDE = re.compile(r"slide (\d+)")
_DRAWN = "drawing"  # the place of a diagram or a chart
_SLIDES = frozenset((".pptx", ".pptm", ".odp"))
_TABLE = re.compile(r"(?m)^\|.*\|$(?:\n\|.*\|$)*")
_BORDER = re.compile(rf"(?m)^(#{{1,6}}) (.*)$|{BREAK}")
_PICTURE = re.compile(r"!\[([^\[\]\n]*)\]\(([^()\n]*)\)")
_WORDS = re.compile(r"(?!\w+ \d+$)\S+\s+\S.*")  # which describe a picture, where "Picture 3" does not


def office(data: bytes, pictures: Pictures, suffix: str) -> Content:
    """The words of a file of one of TYPES, tracked changes as accepted, without headers, footers and comments."""
    from kreuzberg import ExtractionConfig, PageConfig, extract_bytes_sync

    is_slides, is_paged = suffix in _SLIDES, suffix in (".pptx", ".pptm")
    # Of its formats djot alone has headings and tables, and leaves all other signs as they were written.
    config = ExtractionConfig(
        use_cache=False,
        output_format="djot",
        include_document_structure=True,
        pages=PageConfig(insert_page_markers=True, marker_format=f"\n\n{BREAK}\n\n") if is_paged else None,
    )
    found = extract_bytes_sync(_PREPARED.get(suffix, bytes)(data), TYPES[suffix], config)
    titles = _Titles(found)
    text = _TABLE.sub(_in_words, unmarked(found.content, found.document["nodes"] if found.document else ()))
    media = Media(data)
    sections = list(_with_pictures(_sections(text, titles, is_slides=is_slides), media, pictures))
    if is_paged:
        sections = list(_with_more(sections, list(_behind_slides(media))))
    sections += [Section(words, _DRAWN) for words in media.drawn_in("word/document.xml")]
    title = found.metadata.get("title")
    return Content(title if isinstance(title, str) and title else titles.first, sections)


class _Titles:
    """The headings of a document, to tell its headings from lines that look like some."""

    def __init__(self, found: ExtractionResult) -> None:
        nodes = [node["content"] for node in found.document["nodes"]] if found.document else []
        names = [str(node["text"]) for node in nodes if node["node_type"] == "heading"]
        self._left: dict[str, list[str]] = defaultdict(list)
        for name in reversed(names):
            self._left[_letters(name)].append(name.replace(BREAK, ""))
        self.first = next((name for name in names if name.strip()), "").replace(BREAK, "")

    def take(self, line: str) -> str:
        """Return the next heading that a line with marks of bold and the like stands for; empty where it is none."""
        left = self._left.get(_letters(line))
        return left.pop() if left else ""


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _in_words(table: re.Match[str]) -> str:
    """Return a table's rows; page breaks in it come after it."""
    breaks = table[0].count(BREAK)
    return piped(table[0].replace(BREAK, "").split("\n")) + BREAK * breaks


def _with_pictures(sections: Iterable[Section], media: Media, pictures: Pictures) -> Iterator[Section]:
    """Yield the sections with the text of each picture, and words that describe it, where the picture is."""
    for each in sections:
        section, text, start = each, "", 0
        for border in _PICTURE.finditer(each.text):
            text += each.text[start : border.start()] + (border[1] if _WORDS.fullmatch(border[1]) else "")
            start = border.end()
            data = media.get(border[2])
            if data and (shown := pictures.section(data, each.place)).text:
                yield section._replace(text=text)
                yield shown
                section, text = section._replace(joined=False), ""
        yield section._replace(text=text + each.text[start:])


def _behind_slides(media: Media) -> Iterator[tuple[int, Section]]:
    """Yield the sections behind each slide, with its number: diagrams and charts, and the speaker's notes."""
    for number, (drawn, noted) in enumerate(zip(media.on_slides(), media.notes(), strict=True), 1):
        yield from ((number, Section(words, f"slide {number}, {_DRAWN}")) for words in drawn)
        yield number, Section(noted, f"slide {number}, notes")


def _with_more(sections: Iterable[Section], more: Iterable[tuple[int, Section]]) -> Iterator[Section]:
    waiting = deque(more)
    for section in sections:
        slide = _SLIDE.match(section.place)
        while slide and waiting and waiting[0][0] < int(slide[1]):
            yield waiting.popleft()[1]
        yield section
    yield from (section for _, section in waiting)


def _sections(text: str, titles: _Titles, *, is_slides: bool) -> Iterator[Section]:
    """Yield the text from each heading on, and from each page; a slide has no other place than its number."""
    headings, page, left = Headings(), 0 if is_slides else 1, MAX_SECTIONS
    has_pages = BREAK in text

    def place() -> str:
        if is_slides:
            return f"slide {page}"
        return listed(f"p. {page}" if has_pages else "", headings.path)

    head, start, at, is_joined = "", 0, place(), False
    for border in _BORDER.finditer(text):
        heading = titles.take(border[2]) if border[2] else ""
        if not left or (border[2] is not None and not heading):
            continue
        left -= 1
        yield Section(head + text[start : border.start()], at, is_joined)
        page += border[0].count(BREAK)
        if heading:
            headings.enter(len(border[1]), heading)
        head, start, at = f"{heading}\n\n" if heading else "", border.end(), place()
        is_joined = not heading and text[border.start() - 1 : border.start()] not in ("", "\n")
    yield Section(head + text[start:], at, is_joined)
