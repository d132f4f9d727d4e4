"""Web pages by an HTML5 parser: what a reader sees, paragraph by paragraph."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import unquote

from .content import MAX_SECTIONS, Content, Section
from .embedded import Pictures
from .encodings import decoded
from .headings import Headings

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_CHARSET = re.compile(rb"charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_HEAD_BYTES = 4096  # in which a page declares its encoding
_SILENT = frozenset(("script", "style", "noscript", "template", "head", "title"))
_BLOCKS = """
    p div section article li tr table ul ol dl dt dd pre blockquote h1 h2 h3 h4 h5 h6 header footer main aside nav
    figure figcaption form fieldset details summary address hr body"""
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_SPACED = frozenset(("br", "td", "th"))
_PICTURE = "img"
_DATA = re.compile(r"\s*data:image/[^,]*;base64,", re.IGNORECASE)
_BETWEEN = "\n\n"


def html(data: bytes, pictures: Pictures) -> Content:
    """The words of a page. Raises DocumentError."""
    from selectolax.lexbor import LexborHTMLParser

    declared = _CHARSET.search(data[:_HEAD_BYTES])
    page = LexborHTMLParser(decoded(data, declared[1].decode("ascii") if declared else ""))
    title = page.css_first("title")
    body = page.body
    sections = list(_sections(body, pictures)) if body is not None else []
    return Content(title.text() if title is not None else "", sections)


def _sections(body: LexborNode, pictures: Pictures) -> Iterator[Section]:
    """The page, from each of its headings on to the next, and the pictures that it holds itself."""
    headings, place, parts, left = Headings(), "", list[str](), MAX_SECTIONS
    for each in _texts(body):
        if isinstance(each, str):
            parts.append(each)
        elif each.tag == _PICTURE:
            if left and (shown := _in_itself(each)) and (section := pictures.section(shown, place)).text:
                yield Section(_paragraphs(parts), place)
                yield section
                parts, left = [], left - 1
        elif left and (name := " ".join(each.text().split())):
            yield Section(_paragraphs(parts), place)
            headings.enter(int((each.tag or "h6")[1]), name)
            place, parts, left = headings.path, [], left - 1
    yield Section(_paragraphs(parts), place)


def _paragraphs(parts: list[str]) -> str:
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", "".join(parts)))
    return _BETWEEN.join(part for part in paragraphs if part)


def _texts(root: LexborNode) -> Iterator[str | LexborNode]:
    """Texts in their order, with a blank line around each block, and each heading before its texts.

    Without recursion, however deep a page is.
    """
    waiting: list[LexborNode | str] = [root]
    blocks = frozenset(_BLOCKS.split())
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            yield node
        elif node.tag == "-text":
            yield node.text(deep=False) or ""
        elif node.tag not in _SILENT and not (node.tag == "nav" and _is_menu(node)):
            around = _BETWEEN if node.tag in blocks else " " if node.tag in _SPACED else ""
            yield around
            if node.tag in _HEADINGS or node.tag == _PICTURE:
                yield node
            waiting.append(around)
            waiting += reversed(list(node.iter(include_text=True)))


def _in_itself(image: LexborNode) -> bytes:
    """The picture, where its bytes stand in the page."""
    source = image.attributes.get("src") or ""
    head = _DATA.match(source)
    try:
        return b64decode(unquote(source[head.end() :])) if head else b""
    except ValueError:
        return b""


def _is_menu(nav: LexborNode) -> bool:
    """A page whose author forgot to close it has all that it says in there."""
    return nav.css_first("h1, h2, p, article, main") is None
