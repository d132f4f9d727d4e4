"""Files as plain text with a title, by their suffix. Knows nothing of chunks or stores.

Paragraphs are separated by blank lines. Every fault of a file is a DocumentError that names the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..errors import DocumentError
from ..text.normalization import normalize
from .formats.content import Content, Section
from .formats.mail.cards import cards
from .formats.mail.mail import box, mail, page
from .formats.mail.outlook import outlook
from .formats.markup.asciidoc import asciidoc
from .formats.markup.html import html
from .formats.markup.markdown import markdown
from .formats.markup.notebook import notebook
from .formats.markup.subtitles import subtitles
from .formats.office.office import TYPES, office
from .formats.pdf.pdf import pdf
from .formats.pictures import recognition
from .formats.pictures.embedded import Pictures
from .formats.pictures.picture import FORMATS, picture
from .formats.pictures.recognition import MISSING, REMEDY, Recognise
from .formats.sheets.sheets import SHEETS, sheets
from .formats.sheets.table import as_written, plain, separated
from .outline import MAX_PLACE_CHARS, joined

if TYPE_CHECKING:
    from ..stores.records import Outline

READING = 7  # grows where other text, places or passages come out of the same file
_CODE = """
    ada adb ads asm astro awk bash bat c cc cfg cjs clj cljs cmake cmd conf cpp cr cs css cts cu cxx d dart diff el
    elm erl ex exs f f90 f95 fish for fs fsx gd geojson glsl go gql gradle graphql groovy h hcl hpp hrl hs ini ino
    ipp java jl js json json5 jsonc jsonl jsx kt kts less lisp lua m mjs mk ml mli mm move mts nasm ndjson nim nix
    odin pas patch php pl pm properties proto ps1 psm1 purs py pyi pyx r rake rb rkt rs sass scala scm scss sh sol
    sql sv svelte swift tcl tf thrift toml ts tsx v vb vbs vhd vhdl vim vue wgsl xml xsd xsl yaml yml zig zsh"""


Reader = Callable[[bytes, Pictures], Content]


class PlainText(NamedTuple):
    """A file's title and text, a line about what of it is not read, and where in the file the text stands."""

    title: str
    text: str
    notice: str
    outline: Outline


def read(path: Path, data: bytes, recognise: Recognise | None = None) -> PlainText:
    """Return the text of `data`, the bytes of the file at `path`; its suffix says how to read them.

    `recognise` finds the text in pictures and scanned pages; None where nothing is installed that does.
    Raises DocumentError and MemoryError, and ImportError where the program that reads it does not load.
    """
    pictures = Pictures(recognise)
    title, sections, notice = _content(path, data, pictures)
    if not any(section.text for section in sections):
        raise _without_text(path, pictures)
    text, outline = joined(sections)
    return PlainText(title, text, "; ".join(filter(None, (notice, pictures.notice))), outline)


def _content(path: Path, data: bytes, pictures: Pictures) -> Content:
    reader = _reader_of(path, pictures)
    try:
        title, sections, notice = reader(data, pictures)
        clean = [Section(_clean(text), _line(_clean(place)), joined) for text, place, joined in sections]
    except (MemoryError, ImportError):  # no fault of the file's form
        raise
    except DocumentError as error:
        raise DocumentError(f"{shown(path)}: {error.text}", error.remedy) from error
    except Exception as error:  # parsers of foreign files fail in every way there is
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise DocumentError(
            f"{shown(path)}: not a readable {path.suffix} file ({reason})", "open and save it again"
        ) from error
    return Content(_line(_clean(title)) or _line(path.stem), clean, _line(notice))


def is_supported(path: Path) -> bool:
    """Tell whether the suffix is of a type that can be read."""
    return path.suffix.lower() in _READERS and (not is_picture(path) or recognition.is_installed())


def is_picture(path: Path) -> bool:
    """Tell whether a file is a picture, all of whose text has to be recognised."""
    return path.suffix.lower() in FORMATS


def shown(path: Path) -> str:
    """A path in one line, whatever its name is made of."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in str(path))


def check_supported(path: Path) -> None:
    """Raise DocumentError where nothing reads files of this suffix."""
    if not is_supported(path):
        raise _unsupported(path)


def _reader_of(path: Path, pictures: Pictures) -> Reader:
    reader = _READERS.get(path.suffix.lower())
    if reader is None or (is_picture(path) and pictures.recognise is None):
        raise _unsupported(path)
    return reader


def _unsupported(path: Path) -> DocumentError:
    if is_picture(path):
        return DocumentError(f"{shown(path)}: a picture, and {MISSING}", REMEDY)
    text = f"{shown(path)}: cannot read files of type '{shown(Path(path.suffix))}'"
    return DocumentError(text, f"convert it to one of {_KNOWN}")


def _without_text(path: Path, pictures: Pictures) -> DocumentError:
    text = f"{shown(path)}: holds no text"
    if path.suffix.lower() not in _SCANNED and not pictures.notice:
        return DocumentError(text, "write something into it")
    if pictures.recognise is None:
        return DocumentError(f"{text}, and {MISSING}", REMEDY)
    return DocumentError(text, "if it should, scan it again, larger or sharper")


def _line(text: str) -> str:
    return "".join(filter(str.isprintable, " ".join(text.split())))[:MAX_PLACE_CHARS]


def _clean(text: str) -> str:
    """Return a text normalized, without control characters, lone surrogates, and a table's wide padding."""
    text = normalize(text.encode("utf-8", "replace").decode("utf-8"))
    text = re.sub(r"[\x00-\x08\x0e-\x1f\x7f\ufeff]", "", text.replace("\r\n", "\n").replace("\r", "\n"))
    for white, less in ((r"[^\S\n]{32,}", " "), (r"(?:[^\S\n]*\n){3,}", "\n\n")):
        text = re.sub(white, less, text)
    return text.strip()


def _attached(name: str, data: bytes, pictures: Pictures) -> Content | None:
    """Read an attachment of a mail; None where no reader takes it. A mail in a mail is no file of its own."""
    path = Path(name)
    suffix = path.suffix.lower()
    if suffix not in _READERS or suffix in _MAILS:
        return None
    if is_picture(path):
        return Content("", [pictures.section(data)._replace(place="")])
    try:
        found = _content(path, data, pictures)
    except DocumentError:
        return None
    return found if found.notice or any(section.text for section in found.sections) else None


def _alone(reader: Callable[[bytes], Content]) -> Reader:
    """A reader of files in which there are no pictures."""
    return lambda data, _: reader(data)


_MAILS: dict[str, Reader] = {
    ".eml": partial(mail, attached=_attached),
    ".mbox": partial(box, attached=_attached),
    ".msg": partial(outlook, attached=_attached),
}
_READERS: dict[str, Reader] = {
    **dict.fromkeys((".txt", ".text"), _alone(plain)),
    **dict.fromkeys((".log", *(f".{suffix}" for suffix in _CODE.split())), _alone(as_written)),
    **dict.fromkeys((".md", ".markdown", ".mdx", ".qmd", ".rmd"), _alone(markdown)),
    **dict.fromkeys((".adoc", ".asciidoc"), _alone(asciidoc)),
    **dict.fromkeys((".html", ".htm", ".xhtml"), html),
    **dict.fromkeys((".csv", ".tsv"), _alone(separated)),
    **dict.fromkeys((".ics", ".vcf"), _alone(cards)),
    **dict.fromkeys((".srt", ".vtt"), _alone(subtitles)),
    **dict.fromkeys((".mht", ".mhtml"), page),
    ".pdf": lambda data, pictures: pdf(data, pictures.recognise),
    **dict.fromkeys(FORMATS, lambda data, pictures: picture(data, pictures.recognise)),
    ".ipynb": notebook,
    **{suffix: partial(office, suffix=suffix) for suffix in TYPES},
    **{suffix: partial(sheets, suffix=suffix) for suffix in SHEETS},
    **_MAILS,
}
_SCANNED = frozenset((".pdf", *FORMATS))
_KNOWN = "txt, md, html, pdf, docx, odt, rtf, xlsx, csv"
