"""Web pages by an HTML5 parser: what a reader sees, paragraph by paragraph."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ..content import MAX_SECTIONS, Content, Section
from ..encodings import decoded
from ..headings import Headings
from ..pictures.embedded import Pictures
from ..sheets.table import in_words
from .tags import check

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_CHARSET = re.compile(rb"charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_HEAD_BYTES = 4096  # in which a page declares its encoding
_SILENT = frozenset(("script", "style", "noscript", "template", "head", "title"))
_BLOCKS = """
    p div section article li tr table ul ol dl dt dd pre blockquote h1 h2 h3 h4 h5 h6 header footer main aside nav
    figure figcaption form fieldset details summary address hr body"""
_HEADINGS = "h1, h2, h3, h4, h5, h6"
_HEADING = frozenset(_HEADINGS.split(", "))
_SPACED = frozenset(("br", "td", "th", "option", "button"))
_PICTURE, _CODE, _TABLE, _MENU = "img", "pre", "table", "nav"
_NO_TABLE = "table, h1, h2, h3, h4, h5, h6, img, ul, ol, pre, form, [rowspan]"  # what a table for the eye alone has
_SAYING = "h1, h2, p, article, main"  # in a menu: its author forgot to close it, and has the page in there
_KEPT = str.maketrans({"\n": "\ue003", " ": "\ue004", "\t": "\ue004"})  # white space of code, while other goes
_BACK = str.maketrans({"\ue003": "\n", "\ue004": " "})
_UNSEEN = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_DATA = re.compile(r"\s*data:image/[^,]*;base64,", re.IGNORECASE)
MIN_LINES, MAX_WIDE = 2, 100
_LINE_ENDS = "\r\n"
_BETWEEN = "\n\n"


def html(data: bytes, pictures: Pictures) -> Content:
    """The words of a page. Raises DocumentError."""
    from selectolax.lexbor import LexborHTMLParser

    declared = _CHARSET.search(data[:_HEAD_BYTES])
    text = decoded(data, declared[1].decode("ascii") if declared else "")
    check(text)
    page = LexborHTMLParser(text)
    title = page.css_first("title")
    body = page.body
    sections = list(_sections(body, pictures)) if body is not None else []
    return Content(title.text() if title is not None else "", sections)


def _sections(body: LexborNode, pictures: Pictures) -> Iterator[Section]:
    """The page, from each of its headings on to the next, and the pictures that it holds itself."""
    headings, place, parts, left = Headings(), "", list[str](), MAX_SECTIONS
    outer = _holders(body, _HEADINGS)
    for each in _texts(body):
        if isinstance(each, str):
            parts.append(each)
        elif each.tag == _PICTURE:
            if left and (shown := _in_itself(each)) and (section := pictures.section(shown, place)).text:
                yield Section(_paragraphs(parts), place)
                yield section
                parts, left = [], left - 1
        elif left and each.mem_id not in outer and (name := " ".join(each.text().split())):
            yield Section(_paragraphs(parts), place)
            headings.enter(int((each.tag or "h6")[1]), name)
            place, parts, left = headings.path, [], left - 1
    yield Section(_paragraphs(parts), place)


def _paragraphs(parts: list[str]) -> str:
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", "".join(parts)))
    return _BETWEEN.join(part for part in paragraphs if part).translate(_BACK)


def _texts(root: LexborNode) -> Iterator[str | LexborNode]:
    """Texts in their order, with a blank line around each block, and each heading before its texts.

    Without recursion, however deep a page is.
    """
    waiting: list[LexborNode | str] = [root]
    blocks = frozenset(_BLOCKS.split())
    laid_out, saying = _holders(root, _NO_TABLE), _holders(root, _SAYING)
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            yield node
        elif node.tag == "-text":
            yield node.text(deep=False) or ""
        elif node.tag == _CODE:
            yield f"{_BETWEEN}{node.text().strip(_LINE_ENDS).translate(_KEPT)}{_BETWEEN}"
        elif node.tag == _TABLE and node.mem_id not in laid_out and (rows := _rows(node)):
            yield f"{_BETWEEN}{rows}{_BETWEEN}"
        elif not _is_silent(node) and (node.tag != _MENU or node.mem_id in saying):
            around = _BETWEEN if node.tag in blocks else " " if node.tag in _SPACED else ""
            yield around
            if node.tag in _HEADING or node.tag == _PICTURE:
                yield node
            waiting.append(around)
            waiting += reversed(list(node.iter(include_text=True)))


def _is_silent(node: LexborNode) -> bool:
    """Tell whether a browser does not show an element."""
    if node.tag in _SILENT:
        return True
    attributes = node.attributes
    return "hidden" in attributes or _UNSEEN.search(attributes.get("style") or "") is not None


def _rows(table: LexborNode) -> str:
    """Return each row of a table of values as a paragraph; empty where it is no such table."""
    lines = [line for line in table.css("tr") if not _is_silent(line)]
    if len(lines) < MIN_LINES:
        return ""
    rows = [list(_cells(line)) for line in lines]
    return in_words(rows) if min(map(len, rows)) > 1 else ""


def _cells(line: LexborNode) -> Iterator[str]:
    for cell in line.iter():
        yield " ".join(cell.text().split())
        wide = cell.attributes.get("colspan") or ""
        yield from [""] * (min(int(wide), MAX_WIDE) - 1 if wide.isdecimal() else 0)


def _in_itself(image: LexborNode) -> bytes:
    """Return the picture whose bytes stand in the page; empty where they do not."""
    source = image.attributes.get("src") or ""
    head = _DATA.match(source)
    try:
        return b64decode(unquote(source[head.end() :])) if head else b""
    except ValueError:
        return b""


def _holders(root: LexborNode, selector: str) -> set[int]:
    """Return the ids of all elements that hold a match of the selector; each is visited once, however deep it is."""
    found: set[int] = set()
    for each in root.css(selector):
        holder = each.parent
        while holder is not None and holder.mem_id not in found:
            found.add(holder.mem_id)
            holder = holder.parent
    return found
