"""Files as plain text with a title: txt, md, html, pdf and docx. Knows nothing of chunks or stores.

Paragraphs are separated by blank lines. Every fault of a file is a DocumentError that names the file.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from .errors import DocumentError
from .normalization import normalize


class Content(NamedTuple):
    """What a file says."""

    title: str
    text: str


def read(path: Path, data: bytes) -> Content:
    """The text of `data`, the bytes of the file at `path`; its suffix says how. Raises DocumentError, MemoryError."""
    reader = reader_of(path)
    try:
        title, text = reader(data)
        content = Content(_line(_clean(title)) or _line(path.stem), _clean(text))
    except MemoryError:  # no fault of the file's form
        raise
    except DocumentError as error:
        raise DocumentError(f"{shown(path)}: {error.text}", error.remedy) from error
    except Exception as error:  # parsers of foreign files fail in every way there is
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise DocumentError(
            f"{shown(path)}: no readable {path.suffix} file ({reason})", "open and save it again"
        ) from error
    if not content.text:
        raise DocumentError(f"{shown(path)}: holds no text", "a scan needs text recognition (OCR) first")
    return content


def is_supported(path: Path) -> bool:
    """Whether the suffix is of a type that can be read."""
    return path.suffix.lower() in _READERS


def shown(path: Path) -> str:
    """A path in one line, whatever its name is made of."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in str(path))


def reader_of(path: Path) -> Callable[[bytes], Content]:
    """What reads files of this suffix. Raises DocumentError where nothing does."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        text = f"{shown(path)}: cannot read files of type '{shown(Path(path.suffix))}'"
        raise DocumentError(text, f"convert it to one of {_KNOWN}")
    return reader


def _line(text: str) -> str:
    return "".join(filter(str.isprintable, " ".join(text.split())))[:200]


def _clean(text: str) -> str:
    """Normalized, without control characters, lone surrogates, and a table's wide padding."""
    text = normalize(text.encode("utf-8", "replace").decode("utf-8"))
    text = re.sub(r"[\x00-\x08\x0e-\x1f\x7f\ufeff]", "", text.replace("\r\n", "\n").replace("\r", "\n"))
    for white, less in ((r"[^\S\n]{32,}", " "), (r"(?:[^\S\n]*\n){3,}", "\n\n")):
        text = re.sub(white, less, text)
    return text.strip()


def _decode(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16")
    if b"\x00" in data:
        raise DocumentError("holds binary data, not text", "convert it to plain text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _decode_damaged(data)


def _decode_damaged(data: bytes) -> str:
    """As UTF-8 where it is that for the most part, else as what came before it."""
    text = data.decode("utf-8-sig", "replace")
    foreign = len(text) - len(text.encode("ascii", "ignore"))
    return text if 2 * text.count("\ufffd") <= foreign else data.decode("cp1252", "replace")


def _text(data: bytes) -> Content:
    return Content("", _decode(data))


def _markdown(data: bytes) -> Content:
    source = _decode(data)
    heading = re.search(_HEADING, source)
    return Content(_unmarked(_heading(heading)) if heading else "", _unmarked(source))


def _heading(line: re.Match[str]) -> str:
    return f"\n{line[1].rstrip().rstrip('#').rstrip()}\n"


def _unmarked(text: str) -> str:
    for pattern, plain in _MARKUP:
        text = re.sub(pattern, plain, text)
    return text


# HTML's names, old ones among them; anything else between angle brackets is text, as in `vector<int>`.
_ELEMENTS = """
    a abbr acronym address area article aside audio b base bdi bdo big blockquote body br button canvas caption center
    cite code col colgroup data datalist dd del details dfn dialog div dl dt em embed fieldset figcaption figure font
    footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label legend li
    link main map mark marquee math menu meta meter nav nobr noscript object ol optgroup option output p param picture
    pre progress q rp rt ruby s samp script search section select slot small source span strike strong style sub
    summary sup svg table tbody td template textarea tfoot th thead time title tr track tt u ul var video wbr"""
# These run on hostile files while everything else waits: none may look at a character again for each one before it.
_HEADING = r"(?m)^#{1,6}[^\S\n]+(\S.*)$"
_MARKUP: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"(?m)^[^\S\n]*(?:```|~~~).*$", ""),  # fences go, the code stays
    (r"!?\[([^\[\]\n]*)\]\((?:[^()\s]++|\([^()]*\))*+(?:\s+\"[^\"]*\")?\)", r"\1"),
    (_HEADING, _heading),
    (r"(?m)^\s{0,3}>\s?", ""),
    (r"(\*\*|__|(?<!`)`{1,3}+)(?=\S)((?:(?!\1).)++)(?<=\S)\1", r"\2"),
    (r"(?<!\w)([*_])(?=\S)([^*_\n]+)(?<=\S)\1(?!\w)", r"\2"),
    (r"<!--(?:(?!<!--|-->)[\s\S])*+-->", ""),
    (r"<([a-zA-Z][\w+.-]*:[^\s<>]+|[^\s<>@/]+@[^\s<>@]+)>", r"\1"),
    (rf"(?i)</?(?:{'|'.join(_ELEMENTS.split())})(?:[\s/][^<>\n]*)?>", ""),
)


def _html(data: bytes) -> Content:
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(data, "html.parser")
    title = soup.title.get_text() if soup.title else ""
    for silent in soup(["script", "style", "noscript", "template", "nav", "head"]):
        silent.decompose()
    for block in soup.find_all(_BLOCKS):
        block.insert(0, "\n\n")  # beside it, each would be sought among all its siblings
        block.append("\n\n")
    for cell in soup.find_all(["br", "td", "th"]):
        cell.append(" ")
    text = soup.get_text()
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))
    return Content(title, "\n\n".join(part for part in paragraphs if part))


_BLOCKS = ["p", "div", "section", "article", "li", "tr", "table", "ul", "ol", "dt", "dd", "pre", "blockquote"]
_BLOCKS += ["h1", "h2", "h3", "h4", "h5", "h6", "header", "footer", "main", "aside", "figcaption"]


def _pdf(data: bytes) -> Content:
    from pypdf import PdfReader

    pdf = PdfReader(io.BytesIO(data))
    if pdf.is_encrypted and not pdf.decrypt(""):
        raise DocumentError("is protected by a password", "save it without one")
    title = pdf.metadata.title if pdf.metadata else None
    pages = (re.sub(r"(?<=[a-z])-\n(?=[a-z])", "", page.extract_text()) for page in pdf.pages)
    return Content(title if isinstance(title, str) else "", "\n\n".join(pages))  # it may be a number or a list


def _docx(data: bytes) -> Content:
    from docx import Document
    from docx.table import Table

    document = Document(io.BytesIO(data))
    parts: list[str] = []
    for block in document.iter_inner_content():
        if isinstance(block, Table):
            # A merged cell is there once for each of its columns.
            parts += [" | ".join(cell.text for cell in dict.fromkeys(row.cells)) for row in block.rows]
        else:
            parts.append(block.text)
    return Content(document.core_properties.title, "\n\n".join(parts))


_READERS: dict[str, Callable[[bytes], Content]] = {
    ".txt": _text,
    ".text": _text,
    ".md": _markdown,
    ".markdown": _markdown,
    ".html": _html,
    ".htm": _html,
    ".pdf": _pdf,
    ".docx": _docx,
}
_KNOWN = "txt, md, html, pdf, docx"
