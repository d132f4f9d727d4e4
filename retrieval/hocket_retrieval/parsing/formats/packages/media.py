"""The pictures in a file that is a zip archive, by the names that its text has for them."""

from __future__ import annotations

import io
import re
import zipfile
from collections import defaultdict
from contextlib import suppress
from pathlib import PurePosixPath
from posixpath import normpath
from urllib.parse import unquote
from xml.etree import ElementTree

from ..pictures.picture import FORMATS
from . import drawings, sheet_notes

MAX_BYTES = 64 << 20  # of one picture
_NUMBERED = re.compile(r"image_(\d+)\.\w+")
_HREF = re.compile(r"<draw:image\b[^<>]*\bxlink:href=\"([^\"<>]+)\"")
_RELATION = re.compile(r"<(?:\w+:)?Relationship\b([^<>]*)>")
_ATTRIBUTE = re.compile(r"\b(Id|Target)=[\"']([^\"']*)[\"']")
_SHEET = re.compile(r"<(?:\w+:)?sheet\b([^<>]*)>")
_SLIDE = re.compile(r"<(?:\w+:)?sldId\b([^<>]*)>")
_KEY = re.compile(r"\br:id=[\"']([^\"']*)[\"']")


_BODY = "{*}nvSpPr/{*}nvPr/{*}ph[@type='body']"


class Media:
    """The pictures of an archive; none of other files."""

    def __init__(self, data: bytes) -> None:
        self._package: zipfile.ZipFile | None = None
        self._named: dict[str, list[str]] = defaultdict(list)
        with suppress(zipfile.BadZipFile, NotImplementedError):
            self._package = zipfile.ZipFile(io.BytesIO(data))
        for name in self._package.namelist() if self._package else ():
            if PurePosixPath(name).suffix.lower() in FORMATS:
                self._named[PurePosixPath(name).name].append(name)
        self._in_order = _HREF.findall(self._text("content.xml"))
        self._unnamed = iter(self._in_order)

    def get(self, reference: str) -> bytes | None:
        """The picture that a text refers to, such as `../media/image1.png`; None where there is none.

        A reference without a name is to the next one of an OpenDocument.
        """
        if not reference:
            reference = next(self._unnamed, "")
        number = _NUMBERED.fullmatch(reference)
        if number and int(number[1]) < len(self._in_order):
            reference = self._in_order[int(number[1])]
        path = normpath(unquote(reference)).lstrip("./")
        found = [name for name in self._named.get(PurePosixPath(path).name, ()) if f"/{name}".endswith(f"/{path}")]
        return self._part(found[0]) if found else None

    def of_sheets(self) -> list[list[bytes]]:
        """Return the pictures of each sheet of an Excel workbook, in the order of the sheets."""
        return [
            [picture for drawing in self._related(sheet).values() for name in self._related(drawing).values()
             if (picture := self._picture(name))]
            for sheet in self._sheets()
        ]  # fmt: skip

    def beside_cells(self) -> list[str]:
        """The notes, comments and text boxes of each sheet of an Excel workbook, in the order of the sheets."""
        related = [self._related(sheet).values() for sheet in self._sheets()]
        return [sheet_notes.notes({name: self._part(name) for name in names}) for names in related]

    def notes(self) -> list[str]:
        """Return the speaker's notes of each slide of PowerPoint, in their order; empty where there are none."""
        related = [list(self._related(slide).values()) for slide in self._slides()]
        return [_noted(self._part(next((name for name in names if "/notesSlide" in name), ""))) for names in related]

    def on_slides(self) -> list[list[str]]:
        """The words of the diagrams and charts of each slide of PowerPoint, in their order."""
        return list(map(self.drawn_in, self._slides()))

    def drawn_in(self, part: str) -> list[str]:
        """The words of the diagrams and charts of a part, such as a Word file's `word/document.xml`."""
        names = [name for name in self._related(part).values() if any(folder in name for folder in drawings.FOLDERS)]
        return list(filter(None, (drawings.words(self._part(name)) for name in names)))

    def _sheets(self) -> list[str]:
        book = "xl/workbook.xml"
        parts = self._related(book)
        keys = [_KEY.search(each[1]) for each in _SHEET.finditer(self._text(book))]
        return [parts.get(key[1], "") if key else "" for key in keys]

    def _slides(self) -> list[str]:
        show = "ppt/presentation.xml"
        parts = self._related(show)
        keys = [_KEY.search(each[1]) for each in _SLIDE.finditer(self._text(show))]
        return [parts.get(key[1], "") if key else "" for key in keys]

    def _related(self, name: str) -> dict[str, str]:
        """The parts that a part refers to, by their keys."""
        folder = PurePosixPath(name).parent
        text = self._text(f"{folder}/_rels/{PurePosixPath(name).name}.rels") if name else ""
        found = [dict(_ATTRIBUTE.findall(each[1])) for each in _RELATION.finditer(text)]
        targets = {each.get("Id", ""): each.get("Target", "") for each in found}
        return {key: normpath(folder / target).lstrip("/") for key, target in targets.items()}

    def _picture(self, name: str) -> bytes:
        return self._part(name) if PurePosixPath(name).suffix.lower() in FORMATS else b""

    def _text(self, name: str) -> str:
        return self._part(name).decode("utf-8", "replace")

    def _part(self, name: str) -> bytes:
        """Return the bytes of a part; empty where it is missing, too large, or broken."""
        if self._package is None:
            return b""
        try:
            return self._package.read(name) if self._package.getinfo(name).file_size <= MAX_BYTES else b""
        except (KeyError, zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError):
            return b""


def _noted(part: bytes) -> str:
    """The text of a page of notes, without its number and date."""
    try:
        root = ElementTree.fromstring(part)
    except ElementTree.ParseError:
        return ""
    bodies = [shape for shape in root.iterfind(".//{*}sp") if shape.find(_BODY) is not None]
    paragraphs = [line for body in bodies for line in body.iterfind(".//{*}p")]
    return "\n".join("".join(text.text or "" for text in line.iterfind(".//{*}t")) for line in paragraphs).strip()
