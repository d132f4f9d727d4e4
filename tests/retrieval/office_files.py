"""Small files of programs of an office, made by hand: what a format needs, and no more."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date
from email.message import EmailMessage
from typing import NamedTuple
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


def _zipped(parts: Mapping[str, str | bytes], first: str = "") -> bytes:
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


def paragraph(text: str, style: str = "", *, page: bool = False) -> str:
    """A paragraph for `docx`, of a style such as Heading1; `page` begins a new page behind it."""
    kind = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    end = '<w:r><w:br w:type="page"/></w:r>' if page else ""
    return f"<w:p>{kind}<w:r><w:t>{escape(text)}</w:t></w:r>{end}</w:p>"


def xlsx(name: str, rows: Sequence[Sequence[str]]) -> bytes:
    """A workbook of one sheet."""
    return workbook({name: rows})


def workbook(sheets: dict[str, Sequence[Sequence[str]]]) -> bytes:
    """A workbook of these sheets, by their names."""
    kinds, parts, relations, listed = {"xl/workbook.xml": "spreadsheetml.sheet.main"}, {}, {}, ""
    for number, (name, rows) in enumerate(sheets.items(), 1):
        cells = [[f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>' for value in row] for row in rows]
        lines = "".join(f"<row>{''.join(row)}</row>" for row in cells)
        part = f"xl/worksheets/sheet{number}.xml"
        kinds[part] = "spreadsheetml.worksheet"
        parts[part] = f'<worksheet xmlns="{_SHEET}"><sheetData>{lines}</sheetData></worksheet>'
        relations[f"r{number}"] = ("worksheet", f"worksheets/sheet{number}.xml")
        listed += f'<sheet name="{name}" sheetId="{number}" r:id="r{number}"/>'
    parts["xl/workbook.xml"] = f'<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>'
    parts["xl/_rels/workbook.xml.rels"] = _relations(**relations)
    return _package(kinds, parts)


def binary_workbook(name: str, rows: Sequence[Sequence[str | float]], top: int = 0) -> bytes:
    """A binary workbook of one sheet, whose rows begin at this one, from 0 on."""

    def record(kind: int, data: bytes = b"") -> bytes:
        return _number(kind) + _number(len(data)) + data

    def said(text: str) -> bytes:
        return struct.pack("<I", len(text)) + text.encode("utf-16-le")

    def cell(column: int, value: str | float) -> bytes:
        at = struct.pack("<II", column, 0)
        return record(6, at + said(value)) if isinstance(value, str) else record(5, at + struct.pack("<d", value))

    cells = b"".join(
        record(0, struct.pack("<IIHBBBI", at, 0, 300, 0, 0, 0, 0)) + b"".join(map(cell, range(len(row)), row))
        for at, row in enumerate(rows, top)
    )
    size = struct.pack("<IIII", top, top + len(rows) - 1, 0, max(map(len, rows)) - 1)
    listed = record(143) + record(156, struct.pack("<II", 0, 1) + said("r1") + said(name)) + record(144)
    parts = {
        "_rels/.rels": _relations(r1=("officeDocument", "xl/workbook.bin")),
        "xl/_rels/workbook.bin.rels": _relations(r1=("worksheet", "worksheets/sheet1.bin")),
        "xl/workbook.bin": record(131) + listed + record(132),
        "xl/worksheets/sheet1.bin": record(129) + record(148, size) + record(145) + cells + record(146) + record(130),
    }
    return _zipped(parts)


def _number(value: int) -> bytes:
    """Seven bits a byte, the lowest first."""
    return bytes([value]) if value < 128 else bytes([value % 128 + 128]) + _number(value // 128)


class Percent(float):
    """A share that a sheet shows as a percentage with one digit behind the point."""


Value = str | float | date | Percent


class Sheet(NamedTuple):
    """Values by (row, column), each from 1 on, and merged cells by (first row, first column, last row, last column)."""

    name: str
    cells: dict[tuple[int, int], Value]
    merged: Sequence[tuple[int, int, int, int]] = ()
    is_hidden: bool = False


def excel(sheets: Sequence[Sheet]) -> bytes:
    """A workbook of Excel of these sheets."""
    kinds, parts = {"xl/workbook.xml": "spreadsheetml.sheet.main", "xl/styles.xml": "spreadsheetml.styles"}, {}
    relations, listed = {"s": ("styles", "styles.xml")}, ""
    for number, sheet in enumerate(sheets, 1):
        part = f"xl/worksheets/sheet{number}.xml"
        kinds[part] = "spreadsheetml.worksheet"
        rows = "".join(
            f'<row r="{row}">{"".join(_cell(at, value) for at, value in sheet.cells.items() if at[0] == row)}</row>'
            for row in sorted({row for row, _ in sheet.cells})
        )
        areas = "".join(f'<mergeCell ref="{_name(a, b)}:{_name(c, d)}"/>' for a, b, c, d in sheet.merged)
        merged = f"<mergeCells>{areas}</mergeCells>" if areas else ""
        parts[part] = f'<worksheet xmlns="{_SHEET}"><sheetData>{rows}</sheetData>{merged}</worksheet>'
        relations[f"r{number}"] = ("worksheet", f"worksheets/sheet{number}.xml")
        state = ' state="hidden"' if sheet.is_hidden else ""
        listed += f'<sheet name="{escape(sheet.name)}" sheetId="{number}"{state} r:id="r{number}"/>'
    parts["xl/styles.xml"] = (
        f'<styleSheet xmlns="{_SHEET}"><numFmts count="1"><numFmt numFmtId="164" formatCode="0.0%"/></numFmts>'
        '<cellXfs count="3"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/></cellXfs></styleSheet>'
    )
    parts["xl/workbook.xml"] = f'<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>'
    parts["xl/_rels/workbook.xml.rels"] = _relations(**relations)
    return _package(kinds, parts)


def _name(row: int, column: int) -> str:
    return f"{chr(64 + column)}{row}"


def _cell(at: tuple[int, int], value: Value) -> str:
    if isinstance(value, str):
        return f'<c r="{_name(*at)}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    style = 1 if isinstance(value, date) else 2 if isinstance(value, Percent) else 0
    number = (value - date(1899, 12, 30)).days if isinstance(value, date) else float(value)
    return f'<c r="{_name(*at)}" s="{style}"><v>{number}</v></c>'


def open_sheets(sheets: Sequence[Sheet]) -> bytes:
    """The same as an OpenDocument, where runs of blank rows and cells are one element."""
    return opened("spreadsheet", "spreadsheet", "".join(map(_open_sheet, sheets)))


def _open_sheet(sheet: Sheet) -> str:
    rows, before = "", 0
    for row in sorted({row for row, _ in sheet.cells}):
        blank = (
            f'<table:table-row table:number-rows-repeated="{row - before - 1}"><table:table-cell/></table:table-row>'
        )
        cells, left = "", 0
        for column in sorted(column for line, column in sheet.cells if line == row):
            gap = f'<table:table-cell table:number-columns-repeated="{column - left - 1}"/>'
            cells += (gap if column > left + 1 else "") + _open_cell(sheet, (row, column))
            left = column
        rows += (blank if row > before + 1 else "") + f"<table:table-row>{cells}</table:table-row>"
        before = row
    return f'<table:table table:name="{escape(sheet.name)}">{rows}</table:table>'


def _open_cell(sheet: Sheet, at: tuple[int, int]) -> str:
    value = sheet.cells[at]
    area = next(((c - a, d - b) for a, b, c, d in sheet.merged if (a, b) == at), None)
    span = f' table:number-rows-spanned="{area[0] + 1}" table:number-columns-spanned="{area[1] + 1}"' if area else ""
    if isinstance(value, str):
        kind, said = 'office:value-type="string"', value
    elif isinstance(value, date):
        kind, said = f'office:value-type="date" office:date-value="{value}"', f"{value:%d.%m.%y}"
    elif isinstance(value, Percent):
        kind, said = f'office:value-type="percentage" office:value="{float(value)}"', f"{100 * value:.1f}%"
    else:
        kind, said = f'office:value-type="float" office:value="{value}"', f"{value:.2f}"
    return f"<table:table-cell{span} {kind}><text:p>{escape(said)}</text:p></table:table-cell>"


def pptx(text: str) -> bytes:
    """A presentation of one slide."""
    return slides([("", text)])


def slides(said: Sequence[tuple[str, str]]) -> bytes:
    """A presentation of slides, each with a title and a text or without."""
    spaces = f'xmlns:p="{_SLIDE}" xmlns:a="{_DRAWN}" xmlns:r="{_OFFICE}"'
    kinds, parts, relations, listed = {"ppt/presentation.xml": "presentationml.presentation.main"}, {}, {}, ""
    for number, (title, text) in enumerate(said, 1):
        shapes = (_shape(title, '<p:ph type="title"/>') if title else "") + (_shape(text) if text else "")
        part = f"ppt/slides/slide{number}.xml"
        kinds[part] = "presentationml.slide"
        parts[part] = f"<p:sld {spaces}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
        relations[f"r{number}"] = ("slide", f"slides/slide{number}.xml")
        listed += f'<p:sldId id="{255 + number}" r:id="r{number}"/>'
    parts["ppt/presentation.xml"] = f"<p:presentation {spaces}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>"
    parts["ppt/_rels/presentation.xml.rels"] = _relations(**relations)
    return _package(kinds, parts)


def speaking(said: Sequence[tuple[str, str, str]]) -> bytes:
    """The same, with notes for the speaker or without."""
    spaces = f'xmlns:p="{_SLIDE}" xmlns:a="{_DRAWN}"'
    parts = {}
    for number, (_, _, notes) in enumerate(said, 1):
        lines = "".join(f"<a:p><a:r><a:t>{escape(line)}</a:t></a:r></a:p>" for line in notes.splitlines())
        body = f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="body"/></p:nvPr></p:nvSpPr><p:txBody>{lines}</p:txBody></p:sp>'
        page = _shape(str(number), '<p:ph type="sldNum"/>') + body
        if notes:
            name = f"notesSlides/notesSlide{number}.xml"
            parts[f"ppt/{name}"] = f"<p:notes {spaces}><p:cSld><p:spTree>{page}</p:spTree></p:cSld></p:notes>"
            parts[f"ppt/slides/_rels/slide{number}.xml.rels"] = _relations(r1=("notesSlide", f"../{name}"))
    with zipfile.ZipFile(io.BytesIO(slides([each[:2] for each in said]))) as package:
        return _zipped({name: package.read(name).decode() for name in package.namelist()} | parts)


def _shape(text: str, kind: str = "") -> str:
    named = f'<p:nvSpPr><p:cNvPr id="2" name="Box"/><p:cNvSpPr/><p:nvPr>{kind}</p:nvPr></p:nvSpPr><p:spPr/>'
    said = f"<a:p><a:r><a:t>{escape(text)}</a:t></a:r></a:p>"
    return f"<p:sp>{named}<p:txBody><a:bodyPr/>{said}</p:txBody></p:sp>"


def odt(text: str) -> bytes:
    """An OpenDocument text."""
    return opened("text", "text", f"<text:p>{escape(text)}</text:p>")


def opened(kind: str, element: str, body: str) -> bytes:
    """An OpenDocument of this kind, such as `spreadsheet`, with this inside its element of that name."""
    spaces = " ".join(f'xmlns:{name}="{_OPEN}:{name}:1.0"' for name in ("office", "text", "table"))
    spaces += f' xmlns:draw="{_OPEN}:drawing:1.0"'
    inner = f"<office:body><office:{element}>{body}</office:{element}></office:body>"
    manifest = f'<manifest:manifest xmlns:manifest="{_OPEN}:manifest:1.0"/>'
    return _zipped(
        {
            "META-INF/manifest.xml": _XML + manifest,
            "content.xml": f"{_XML}<office:document-content {spaces}>{inner}</office:document-content>",
        },
        f"application/vnd.oasis.opendocument.{kind}",
    )


def open_slides(said: Sequence[str]) -> bytes:
    """An OpenDocument presentation of slides with a text each."""
    shapes = (
        f"<draw:frame><draw:text-box><text:p>{escape(each)}</text:p></draw:text-box></draw:frame>" for each in said
    )
    pages = (f'<draw:page draw:name="p{at}">{shape}</draw:page>' for at, shape in enumerate(shapes))
    return opened("presentation", "presentation", "".join(pages))


def flat(data: bytes) -> bytes:
    """An OpenDocument as one XML."""
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        return package.read("content.xml").replace(b"office:document-content", b"office:document")


def epub(title: str, text: str) -> bytes:
    """A book of one chapter."""
    return book(title, [f"<p>{escape(text)}</p>"])


def book(title: str, chapters: Sequence[str]) -> bytes:
    """A book of these chapters, each the inside of a page's body."""
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>'
        '<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    names = [f"c{number}" for number in range(len(chapters))]
    spine = "".join(f'<itemref idref="{name}"/>' for name in names)
    items = "".join(f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml"/>' for name in names)
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">'
        f'<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{escape(title)}</dc:title>'
        f'<dc:identifier id="id">x</dc:identifier></metadata><manifest>{items}</manifest>'
        f"<spine>{spine}</spine></package>"
    )
    parts = {"META-INF/container.xml": container, "book.opf": package}
    for name, chapter in zip(names, chapters, strict=True):
        parts[f"{name}.xhtml"] = f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{chapter}</body></html>'
    return _zipped({name: _XML + part for name, part in parts.items()}, "application/epub+zip")


def pdf(pages: Sequence[Sequence[str]], bookmarks: Sequence[tuple[str, int, int]]) -> bytes:
    """A PDF of these pages, each of lines; bookmarks are (heading, level 0 or 1, page)."""
    first_page, first_mark = 4, 4 + 2 * len(pages)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /Outlines %d 0 R >>" % first_mark,
        b"<< /Type /Pages /Kids [%s] /Count %d >>"
        % (b" ".join(b"%d 0 R" % (first_page + 2 * at) for at in range(len(pages))), len(pages)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for at, lines in enumerate(pages):
        shown = " T* ".join(f"({line}) Tj" for line in lines)
        stream = f"BT /F 12 Tf 14 TL 72 700 Td {shown} ET".encode()
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
            b" /Resources << /Font << /F 3 0 R >> >> >>" % (first_page + 2 * at + 1),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        ]
    return _numbered([*objects, *_outlines(bookmarks, first_mark, first_page)])


def _outlines(bookmarks: Sequence[tuple[str, int, int]], root: int, first_page: int) -> list[bytes]:
    """The objects of a PDF's outline, numbered from `root` on."""
    if not bookmarks:
        return [b"<< /Type /Outlines /Count 0 >>"]
    parents = [root]
    for at, (_, level, _) in enumerate(bookmarks):
        above = max((before for before in range(at) if bookmarks[before][1] < level), default=-1)
        parents.append(root + 1 + above)
    numbers = range(root, root + len(parents))

    def children(number: int) -> list[int]:
        return [child for child, parent in zip(numbers[1:], parents[1:], strict=True) if parent == number]

    made = []
    for number in numbers:
        own = children(number)
        below = b" /First %d 0 R /Last %d 0 R /Count %d" % (own[0], own[-1], len(own)) if own else b""
        if number == root:
            made.append(b"<< /Type /Outlines%s >>" % below)
            continue
        heading, _, page = bookmarks[number - root - 1]
        beside = children(parents[number - root])
        behind = [each for each in beside if each > number][:1]
        following = b" /Next %d 0 R" % behind[0] if behind else b""
        target = b"[%d 0 R /XYZ 0 792 0]" % (first_page + 2 * page)
        made.append(
            b"<< /Title (%s) /Parent %d 0 R /Dest %s%s%s >>"
            % (heading.encode(), parents[number - root], target, below, following)
        )
    return made


def _numbered(objects: Sequence[bytes]) -> bytes:
    """A PDF of these objects, of which the first is its root."""
    out, places = io.BytesIO(), []
    out.write(b"%PDF-1.4\n")
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start, size = out.tell(), len(objects) + 1
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % size + b"".join(b"%010d 00000 n \n" % place for place in places))
    out.write(b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, start))
    return out.getvalue()


def mail(subject: str, text: str, attached: dict[str, bytes]) -> bytes:
    """A mail with files attached to it."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "anna@example.org", "ben@example.org", subject
    message.set_content(text)
    for name, data in attached.items():
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return message.as_bytes()
