"""Laws of words that a file has outside its text: in diagrams, charts, forms and compressed bodies. None is lost."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path

import pytest
from compound_files import compound
from hypothesis import given
from hypothesis import strategies as st
from office_files import docx, paragraph, slides, xlsx

from hocket_retrieval.errors import DocumentError
from hocket_retrieval.parsing.formats.mail.compressed_rtf import decompressed
from hocket_retrieval.parsing.formats.packages.drawings import words
from hocket_retrieval.parsing.readers import read

_MAIN = "http://schemas.openxmlformats.org/drawingml/2006"
_RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def diagram(*texts: str) -> str:
    """SmartArt with a point for each text, and one without any."""
    points = "".join(f"<d:pt><d:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></d:t></d:pt>" for text in ("", *texts))
    return f'<d:dataModel xmlns:d="{_MAIN}/diagram" xmlns:a="{_MAIN}/main"><d:ptLst>{points}</d:ptLst></d:dataModel>'


def _cached(part: str, values: Mapping[int, str]) -> str:
    points = "".join(f'<c:pt idx="{at}"><c:v>{value}</c:v></c:pt>' for at, value in values.items())
    return f"<c:{part}><c:strRef><c:strCache>{points}</c:strCache></c:strRef></c:{part}>"


def chart(title: str, series: str, values: Mapping[str, str]) -> str:
    """A chart of one series."""
    names, numbers = dict(enumerate(values)), dict(enumerate(values.values()))
    drawn = _cached("tx", {0: series}) + _cached("cat", names) + _cached("val", numbers)
    head = f"<c:title><c:tx><c:rich><a:p><a:r><a:t>{title}</a:t></a:r></a:p></c:rich></c:tx></c:title>"
    plot = f"<c:plotArea><c:barChart><c:ser>{drawn}</c:ser></c:barChart></c:plotArea>"
    space = f'xmlns:c="{_MAIN}/chart" xmlns:a="{_MAIN}/main"'
    return f"<c:chartSpace {space}><c:chart>{head}{plot}</c:chart></c:chartSpace>"


def with_parts(data: bytes, parts: Mapping[str, str]) -> bytes:
    """A package with further parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as package, zipfile.ZipFile(out, "w") as made:
        for name in package.namelist():
            made.writestr(name, package.read(name))
        for name, part in parts.items():
            made.writestr(name, part)
    return out.getvalue()


def relations(*targets: str) -> str:
    """A part that refers to these."""
    each = "".join(f'<Relationship Id="x{at}" Type="{_RELATED}/x" Target="{to}"/>' for at, to in enumerate(targets))
    return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{each}</Relationships>'


BOARD, MEMBERS = diagram("Board", "Treasurer: Inga"), chart("Members", "Adults", {"2024": "41", "2025": "52"})
OF_MEMBERS = "Members\nAdults\n2024: 41\n2025: 52"


def test_diagrams_and_charts_of_word_stand_behind_its_text() -> None:
    parts = {
        "word/diagrams/data1.xml": BOARD,
        "word/charts/chart1.xml": MEMBERS,
        "word/_rels/document.xml.rels": relations("diagrams/data1.xml", "charts/chart1.xml", "diagrams/colors1.xml"),
    }
    found = read(Path("a.docx"), with_parts(docx(paragraph("Before.")), parts))
    assert found.text == f"Before.\n\nBoard\nTreasurer: Inga\n\n{OF_MEMBERS}"
    assert [place for _, place in found.outline][-1] == "drawing"


def test_diagrams_and_charts_of_slides_stand_behind_theirs() -> None:
    """Each behind its own slide, before the next one."""
    parts = {
        "ppt/diagrams/data1.xml": BOARD,
        "ppt/charts/chart1.xml": MEMBERS,
        "ppt/slides/_rels/slide1.xml.rels": relations("../diagrams/data1.xml"),
        "ppt/slides/_rels/slide2.xml.rels": relations("../charts/chart1.xml"),
    }
    found = read(Path("a.pptx"), with_parts(slides([("One", "First."), ("Two", "Second.")]), parts))
    words_of = [" ".join(found.text.split()).index(each) for each in ("First.", "Board", "Second.", "Members Adults")]
    assert words_of == sorted(words_of)
    assert [place for _, place in found.outline if "drawing" in place] == ["slide 1, drawing", "slide 2, drawing"]


def test_notes_and_text_boxes_of_a_sheet_are_read_behind_its_rows() -> None:
    """A thread of comments is read by its own words, not by those for programs that know no threads."""
    box = f'<x:wsDr xmlns:x="x" xmlns:a="{_MAIN}/main"><x:sp><x:txBody><a:p><a:r><a:t>Ask Inga.</a:t></a:r></a:p>'
    note = "<comments xmlns='m'><commentList><comment ref='B2'><text><r><t>Not </t></r><r><t>paid</t></r></text>"
    parts = {
        "xl/worksheets/_rels/sheet1.xml.rels": relations("../comments1.xml", "../drawings/drawing1.xml"),
        "xl/comments1.xml": f"{note}</comment></commentList></comments>",
        "xl/drawings/drawing1.xml": f"{box}</x:txBody></x:sp></x:wsDr>",
    }
    found = read(Path("a.xlsx"), with_parts(xlsx("Rent", [["Month", "Sum"], ["May", "780"]]), parts))
    assert found.text.endswith("\n\nB2: Not paid\nAsk Inga.")
    assert found.outline[-1][1] == "sheet Rent, notes"
    thread = "<ThreadedComments xmlns='t'><threadedComment ref='B2'><text>Paid in June</text></threadedComment>"
    parts |= {
        "xl/worksheets/_rels/sheet1.xml.rels": relations(
            "../comments1.xml", "../threadedComments/threadedComment1.xml"
        ),
        "xl/threadedComments/threadedComment1.xml": f"{thread}</ThreadedComments>",
    }
    found = read(Path("a.xlsx"), with_parts(xlsx("Rent", [["Month", "Sum"], ["May", "780"]]), parts))
    assert found.text.endswith("\n\nB2: Paid in June")


@pytest.mark.parametrize("part", [b"", b"<broken", b"<c:x xmlns:c='c'/>"])
def test_a_drawing_that_is_damaged_or_empty_says_nothing(part: bytes) -> None:
    assert words(part) == ""


def test_a_point_without_a_number_costs_no_document() -> None:
    """It is read as the first."""
    assert words(b"<c:x xmlns:c='c'><c:ser><c:val><c:pt idx='x'><c:v>7</c:v></c:pt></c:val></c:ser></c:x>") == "7"


def test_of_several_levels_of_names_the_innermost_counts() -> None:
    """It stands first in the file."""
    levels = "<c:lvl><c:pt idx='0'><c:v>May</c:v></c:pt></c:lvl><c:lvl><c:pt idx='0'><c:v>2026</c:v></c:pt></c:lvl>"
    drawn = f"<c:ser xmlns:c='c'><c:cat>{levels}</c:cat>{_cached('val', {0: '7'})}</c:ser>"
    assert words(f"<c:x xmlns:c='c'>{drawn}</c:x>".encode()) == "May: 7"


# --- mails


def stored(rtf: bytes) -> bytes:
    """Text of a mail of Outlook, in its form that is not compressed."""
    return struct.pack("<II4sI", len(rtf) + 12, len(rtf), b"MELA", 0) + rtf


@pytest.mark.parametrize(
    ("data", "rtf"),
    [  # the two examples of MS-OXRTFCP
        (
            "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0",
            b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n",
        ),
        ("1a0000001c0000004c5a4675e2d44b51410004205758595a0d6e7d010eb0", b"{\\rtf1 WXYZWXYZWXYZWXYZWXYZ}"),
    ],
)
def test_compressed_text_is_that_of_the_specification(data: str, rtf: bytes) -> None:
    assert decompressed(bytes.fromhex(data)) == rtf


@given(st.binary(max_size=400))
def test_any_bytes_are_text_or_a_fault_of_the_document(data: bytes) -> None:
    """Whatever a hostile mail holds there, and however long it says that it is."""
    head = struct.pack("<II4sI", len(data) + 12, 1 << 20, b"LZFu", 0)
    assert len(decompressed(head + data)) <= 18 * len(data)
    with suppress(DocumentError):
        decompressed(data)


def test_a_mail_of_outlook_that_is_rich_text_alone_is_read() -> None:
    """Also one that holds a page inside."""
    plain = rb"{\rtf1\ansi\ansicpg1252 The keys hang \b behind\b0  the door.\par Gr\'fc\'dfe.}"
    tree = {"__substg1.0_10090102": stored(plain), "__substg1.0_0037001E": b"Keys"}
    assert read(Path("a.msg"), compound(tree)).text == "Subject: Keys\n\nThe keys hang behind the door.\n\nGrüße."
    tree["__substg1.0_1000001E"] = b"Plain."
    assert read(Path("a.msg"), compound(tree)).text == "Subject: Keys\n\nPlain."


def test_a_mail_to_very_many_is_read_whole() -> None:
    """Its header was cut behind 8,192 characters, and nothing said so."""
    message = EmailMessage(policy=SMTP)
    message["From"], message["Subject"] = "Ada <ada@example.org>", "Grüße " * 400
    message.set_content("Body.")
    people = ", ".join(f"Person {at} <p{at}@example.org>" for at in range(2_000))
    found = read(Path("a.eml"), b"To: " + people.encode() + b"\r\n" + message.as_bytes())
    assert "p1999@example.org" in found.text
    assert found.text.count("Grüße") == 400
    assert found.text.endswith("Body.")


# --- forms

TEMPLATE = (
    b'<template xmlns="t"><draw><value><text>Tenancy form</text></value></draw>'
    b"<field><caption><value><text>Monthly rent</text></value></caption></field></template>"
)
VALUES = b'<x:datasets xmlns:x="d"><x:data><a><rent>780 euros</rent><empty/></a></x:data></x:datasets>'


def form(template: bytes, values: bytes) -> bytes:
    """A pdf file whose page only says that another program is needed."""
    shown = b"BT /F1 12 Tf 72 740 Td (Please wait...) Tj ET"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /NeedsRendering true "
        b"/AcroForm << /Fields [] /XFA [(template) 6 0 R (datasets) 7 0 R] >> >>",
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R "
        b"/Resources << /Font << /F1 3 0 R >> >> >>",
        *(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(each), each) for each in (shown, template, values)),
    ]
    out = b"%PDF-1.7\n" + b"".join(b"%d 0 obj\n%s\nendobj\n" % each for each in enumerate(objects, 1))
    return out + b"trailer << /Size 8 /Root 1 0 R >>\n%%EOF\n"


def test_a_form_that_no_page_shows_is_read() -> None:
    """Printed texts first, then filled in values."""
    found = read(Path("a.pdf"), form(TEMPLATE, VALUES))
    assert found.text.startswith("Tenancy form\nMonthly rent\nrent: 780 euros")
    assert found.notice == ""


def test_a_form_that_cannot_be_read_is_named() -> None:
    found = read(Path("a.pdf"), form(b"<broken", b"<none/>"))
    assert "is not read: print it to a PDF file" in found.notice
