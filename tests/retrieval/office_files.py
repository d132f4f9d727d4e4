"""Small files of programs of an office, made by hand: what a format needs, and no more."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from email.message import EmailMessage
from xml.sax.saxutils import escape

_XML = '<?xml version="1.0" encoding="UTF-8"?>'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_SLIDE = "http://schemas.openxmlformats.org/presentationml/2006/main"
_DRAWN = "http://schemas.openxmlformats.org/drawingml/2006/main"
_OPEN = "urn:oasis:names:tc:opendocument:xmlns"
_KIND = "application/vnd.openxmlformats-officedocument"


def _zipped(parts: dict[str, str], first: str = "") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        if first:
            file.writestr("mimetype", first)
        for name, text in parts.items():
            file.writestr(name, text)
    return out.getvalue()


def _relations(**targets: tuple[str, str]) -> str:
    each = "".join(
        f'<Relationship Id="{key}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for key, (kind, target) in targets.items()
    )
    return f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">{each}</Relationships>'


def _types(**parts: str) -> str:
    each = "".join(f'<Override PartName="/{name}" ContentType="{_KIND}.{kind}+xml"/>' for name, kind in parts.items())
    rels = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    return f'{_XML}<Types xmlns="{_PACKAGE}/content-types">{rels}{each}</Types>'


def _package(kinds: dict[str, str], parts: dict[str, str]) -> bytes:
    """A package of these parts, of whose `kinds` the first is the document's."""
    heads = {
        "[Content_Types].xml": _types(**kinds),
        "_rels/.rels": _relations(r1=("officeDocument", next(iter(kinds)))),
    }
    return _zipped(heads | {name: part if part.startswith(_XML) else _XML + part for name, part in parts.items()})


def docx(body: str) -> bytes:
    """A Word file with this inside its body; `w:` is its namespace."""
    document = f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>'
    return _package({"word/document.xml": "wordprocessingml.document.main"}, {"word/document.xml": document})


def xlsx(name: str, rows: Sequence[Sequence[str]]) -> bytes:
    """A workbook of one sheet."""
    cells = [[f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>' for value in row] for row in rows]
    lines = "".join(f"<row>{''.join(row)}</row>" for row in cells)
    sheets = f'<sheets><sheet name="{name}" sheetId="1" r:id="r1"/></sheets>'
    kinds = {"xl/workbook.xml": "spreadsheetml.sheet.main", "xl/worksheets/sheet1.xml": "spreadsheetml.worksheet"}
    parts = {
        "xl/workbook.xml": f'<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}">{sheets}</workbook>',
        "xl/_rels/workbook.xml.rels": _relations(r1=("worksheet", "worksheets/sheet1.xml")),
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_SHEET}"><sheetData>{lines}</sheetData></worksheet>',
    }
    return _package(kinds, parts)


def pptx(text: str) -> bytes:
    """A presentation of one slide."""
    said = f"<a:p><a:r><a:t>{escape(text)}</a:t></a:r></a:p>"
    named = '<p:nvSpPr><p:cNvPr id="2" name="Box"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/>'
    shape = f"<p:sp>{named}<p:txBody><a:bodyPr/>{said}</p:txBody></p:sp>"
    listed = '<p:sldIdLst><p:sldId id="256" r:id="r1"/></p:sldIdLst>'
    spaces = f'xmlns:p="{_SLIDE}" xmlns:a="{_DRAWN}" xmlns:r="{_OFFICE}"'
    kinds = {
        "ppt/presentation.xml": "presentationml.presentation.main",
        "ppt/slides/slide1.xml": "presentationml.slide",
    }
    parts = {
        "ppt/presentation.xml": f"<p:presentation {spaces}>{listed}</p:presentation>",
        "ppt/_rels/presentation.xml.rels": _relations(r1=("slide", "slides/slide1.xml")),
        "ppt/slides/slide1.xml": f"<p:sld {spaces}><p:cSld><p:spTree>{shape}</p:spTree></p:cSld></p:sld>",
    }
    return _package(kinds, parts)


def odt(text: str) -> bytes:
    """An OpenDocument text."""
    spaces = f'xmlns:office="{_OPEN}:office:1.0" xmlns:text="{_OPEN}:text:1.0"'
    body = f"<office:body><office:text><text:p>{escape(text)}</text:p></office:text></office:body>"
    kind = "application/vnd.oasis.opendocument.text"
    manifest = f'<manifest:manifest xmlns:manifest="{_OPEN}:manifest:1.0"/>'
    return _zipped(
        {
            "META-INF/manifest.xml": _XML + manifest,
            "content.xml": f"{_XML}<office:document-content {spaces}>{body}</office:document-content>",
        },
        kind,
    )


def epub(title: str, text: str) -> bytes:
    """A book of one chapter."""
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>'
        '<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">'
        f'<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{escape(title)}</dc:title>'
        '<dc:identifier id="id">x</dc:identifier></metadata><manifest><item id="c" href="c.xhtml" '
        'media-type="application/xhtml+xml"/></manifest><spine><itemref idref="c"/></spine></package>'
    )
    chapter = f'<html xmlns="http://www.w3.org/1999/xhtml"><body><p>{escape(text)}</p></body></html>'
    parts = {"META-INF/container.xml": container, "book.opf": package, "c.xhtml": chapter}
    return _zipped({name: _XML + part for name, part in parts.items()}, "application/epub+zip")


def mail(subject: str, text: str, attached: dict[str, bytes]) -> bytes:
    """A mail with files attached to it."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "anna@example.org", "ben@example.org", subject
    message.set_content(text)
    for name, data in attached.items():
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return message.as_bytes()
