"""Files of each kind that may hold a picture, with one in the middle: as programs of an office write them."""

from __future__ import annotations

import base64
import io
import zipfile
from collections.abc import Callable
from email.message import EmailMessage

import docx as word
import office_files as office
from office_files import Sheet

_RELATIONS = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
_RELATION = (
    '<Relationship Id="{}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{}" Target="{}"/>'
)


def _with_parts(data: bytes, parts: dict[str, bytes], name: str = "", old: str = "", new: str = "") -> bytes:
    """The archive with more parts, and one part changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as package, zipfile.ZipFile(out, "w") as made:
        for each in package.namelist():
            part = package.read(each)
            made.writestr(each, part.replace(old.encode(), new.encode()) if each == name else part)
        for each, part in parts.items():
            made.writestr(each, part)
    return out.getvalue()


def _related(key: str, kind: str, target: str) -> bytes:
    return _RELATIONS.format(_RELATION.format(key, kind, target)).encode()


def _written(picture: bytes, *, paged: bool) -> bytes:
    """A Word file whose picture stands behind a paragraph, or on the second page."""
    document = word.Document()
    document.add_heading("Lease", 1)
    document.add_paragraph("Before.")
    if paged:
        document.add_page_break()
    document.add_picture(io.BytesIO(picture))
    document.add_paragraph("After.")
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def _docx(picture: bytes) -> tuple[bytes, str]:
    return _written(picture, paged=False), "§ Lease, picture"


def _paged(picture: bytes) -> tuple[bytes, str]:
    return _written(picture, paged=True), "p. 2, § Lease, picture"


def _odp(picture: bytes) -> tuple[bytes, str]:
    target = 'xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="Pictures/1.png"'
    drawn = f"<draw:frame><draw:image {target}/></draw:frame>"
    made = office.open_slides(["Before.", "Beside."])
    parts, end = {"Pictures/1.png": picture}, "</draw:page></office:presentation>"
    return _with_parts(made, parts, "content.xml", end, drawn + end), "slide 2, picture"


def _pptx(picture: bytes) -> tuple[bytes, str]:
    drawn = (
        '<p:pic><p:nvPicPr><p:cNvPr id="9" name="Picture 9"/><p:cNvPicPr/><p:nvPr/></p:nvPicPr>'
        '<p:blipFill><a:blip r:embed="r1"/></p:blipFill><p:spPr/></p:pic></p:spTree>'
    )
    parts = {
        "ppt/slides/_rels/slide2.xml.rels": _related("r1", "image", "../media/image1.png"),
        "ppt/media/image1.png": picture,
    }
    made = office.slides([("One", "Before."), ("Two", "Beside."), ("Three", "After.")])
    return _with_parts(made, parts, "ppt/slides/slide2.xml", "</p:spTree>", drawn), "slide 2, picture"


def _xlsx(picture: bytes) -> tuple[bytes, str]:
    cells = {(1, 1): "Before.", (2, 1): "After."}
    parts = {
        "xl/worksheets/_rels/sheet2.xml.rels": _related("r1", "drawing", "../drawings/drawing1.xml"),
        "xl/drawings/drawing1.xml": b"<wsDr/>",
        "xl/drawings/_rels/drawing1.xml.rels": _related("r1", "image", "/xl/media/image1.png"),
        "xl/media/image1.png": picture,
    }
    return _with_parts(office.excel([Sheet("One", cells), Sheet("Two", cells)]), parts), "sheet Two, picture"


def _odt(picture: bytes) -> tuple[bytes, str]:
    spaces = 'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"'
    drawn = f'<text:p><draw:frame {spaces}><draw:image xlink:href="Pictures/1.png"/></draw:frame></text:p>'
    body = f'<text:h text:outline-level="1">Lease</text:h><text:p>Before.</text:p>{drawn}<text:p>After.</text:p>'
    return _with_parts(office.opened("text", "text", body), {"Pictures/1.png": picture}), "§ Lease, picture"


def _epub(picture: bytes) -> tuple[bytes, str]:
    chapter = '<h1>Lease</h1><p>Before.</p><p><img src="a%20b.png" alt=""/></p><p>After.</p>'
    return _with_parts(office.book("T", [chapter]), {"a b.png": picture}), "§ Lease, picture"


def _html(picture: bytes) -> tuple[bytes, str]:
    source = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    return f'<h1>Lease</h1><p>Before.<p><img src="{source}"><p>After.'.encode(), "§ Lease, picture"


def _eml(picture: bytes) -> tuple[bytes, str]:
    message = EmailMessage()
    message["Subject"] = "Keys"
    message.set_content("Before.")
    message.add_attachment(picture, maintype="image", subtype="png", filename="scan.png")
    message.add_attachment(b"After.", maintype="text", subtype="plain", filename="a.txt")
    return message.as_bytes(), "attachment scan.png"


def _pasted(picture: bytes) -> tuple[bytes, str]:
    message = EmailMessage()
    message["Subject"] = "Keys"
    message.set_content("Before.")
    message.add_alternative('<p>Before.<img src="cid:a"><p>After.', subtype="html")
    message.get_payload()[1].add_related(picture, "image", "png", cid="<a>", filename="pasted.png")  # type: ignore[index,union-attr]
    return message.as_bytes(), "attachment pasted.png"


def _mbox(picture: bytes) -> tuple[bytes, str]:
    return b"From anna Fri Nov 27\n" + _eml(picture)[0], 'mail "Keys", attachment scan.png'


MAKERS: dict[str, Callable[[bytes], tuple[bytes, str]]] = {
    "a.docx": _docx, "paged.docx": _paged, "a.odp": _odp, "a.pptx": _pptx, "a.xlsx": _xlsx, "a.odt": _odt,
    "a.epub": _epub, "a.html": _html, "a.eml": _eml, "pasted.eml": _pasted, "a.mbox": _mbox,
}  # fmt: skip
