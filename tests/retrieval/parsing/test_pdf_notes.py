"""Laws of what stands on the pages of a pdf file beside their contents: it is read once, or named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from pictures import drawn, saved

from hocket_retrieval.parsing.readers import read

DRAWN = b"BT /F1 12 Tf 2 4 Td (%s) Tj ET"


def noted(notes: Sequence[bytes], *, form: bool = False, text: bytes = b"Application.", extra: bytes = b"") -> bytes:
    """A page with these notes, which are entries of annotations; the last object is `extra`."""
    first = 6
    numbers = b" ".join(b"%d 0 R" % (first + at) for at in range(len(notes)))
    fields = b"/AcroForm << /Fields [%s] /NeedAppearances true >>" % numbers if form else b""
    shown = b"BT /F1 12 Tf 72 740 Td (%s) Tj ET" % text
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R %s >>" % fields,
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Annots [%s] "
        b"/Resources << /Font << /F1 3 0 R >> >> >>" % numbers,
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(shown), shown),
        *(b"<< /Type /Annot /Rect [72 %d 300 %d] /P 4 0 R %s >>" % (600 - 30 * at, 620 - 30 * at, note)
          for at, note in enumerate(notes)),
        extra or b"null",
    ]  # fmt: skip
    out = b"%PDF-1.7\n" + b"".join(b"%d 0 obj\n%s\nendobj\n" % each for each in enumerate(objects, 1))
    return out + b"trailer << /Size %d /Root 1 0 R >>\n%%%%EOF\n" % (len(objects) + 1)


def drawn_form(text: bytes, at: int) -> tuple[bytes, bytes]:
    """The entry of a note that is drawn by the object of this number, and the object."""
    shown = DRAWN % text
    resources = b"/Resources << /Font << /F1 3 0 R >> >>"
    head = b"<< /Type /XObject /Subtype /Form /BBox [0 0 228 20] %s /Length %d >>" % (resources, len(shown))
    return b"/F 4 /AP << /N %d 0 R >>" % at, head + b"\nstream\n" + shown + b"\nendstream"


@pytest.mark.parametrize("form", [False, True])
@pytest.mark.parametrize(
    ("note", "said"),
    [
        (b"/Subtype /FreeText /Contents (Gate 4471.) /DA (/Helv 12 Tf 0 g)", "Gate 4471."),
        (b"/Subtype /FreeText /RC (<body><p>Gate <b>4471</b> &amp; 2</p></body>)", "Gate 4471 & 2"),
        (b"/Subtype /Text /Contents (Ask Inga.) /T (Ben)", "Comment by Ben: Ask Inga."),
        (b"/Subtype /Text /Contents <FEFF00DC006200650072>", "Comment: Über"),
        (b"/Subtype /Highlight /QuadPoints [72 752 200 752 72 738 200 738] /Contents (Wrong.)", "Comment: Wrong."),
        (b"/Subtype /StrikeOut /QuadPoints [72 752 200 752 72 738 200 738] /Contents (No.)", "Comment: No."),
        (b"/Subtype /Text /Contents (on)", "Comment: on"),  # which stands in a word of the page
        (b"/Subtype /Stamp /Contents (Paid 4 May)", "Paid 4 May"),
        (b"/Subtype /Text /F 2 /Contents (Hidden.)", ""),
        (b"/Subtype /Popup /Contents (Again.)", ""),
        (b"/Subtype /Highlight /QuadPoints [72 752 200 752 72 738 200 738]", ""),
        (b"/Subtype /Link /A << /S /URI /URI (https://example.org) >>", ""),
    ],
)
def test_a_note_is_read_behind_the_text_of_its_page(note: bytes, said: str, form: bool) -> None:
    """With its author. Only fields of forms were ever tested beside the contents of a page."""
    assert " ".join(read(Path("a.pdf"), noted([note], form=form)).text.split()) == f"Application. {said}".strip()


@pytest.mark.parametrize(
    ("field", "said"),
    [
        (b"/FT /Tx /T (no) /V (KX-40718) /DA (/Helv 12 Tf 0 g)", "KX-40718"),
        (b"/FT /Ch /Ff 131072 /T (colour) /V (green) /Opt [(red) (green)] /DA (/Helv 12 Tf 0 g)", "green"),
        (b"/FT /Ch /T (colour) /V [(red) (blue)] /Opt [(red) (green) (blue)] /DA (/Helv 12 Tf 0 g)",
         "colour: red, blue"),
        (b"/FT /Btn /T (rent) /TU (I rent) /V /Yes /AS /Yes", "I rent: Yes"),
        (b"/FT /Btn /T (rent) /V /Off /AS /Off", ""),
        (b"/FT /Tx /F 2 /T (secret) /V (Hidden) /DA (/Helv 12 Tf 0 g)", ""),
    ],
)  # fmt: skip
def test_a_field_tells_what_it_was_filled_in_with(field: bytes, said: str) -> None:
    """Of a list and a box, what was chosen: a list shows all of its lines, and a box no word."""
    text = " ".join(read(Path("a.pdf"), noted([b"/Subtype /Widget " + field], form=True)).text.split())
    assert text.startswith("Application.")
    assert text.endswith(said or "Application.")
    assert text.count(said or "Application.") == 1


@pytest.mark.parametrize("form", [False, True])
@pytest.mark.parametrize("contents", [b"", b"/Contents (Gate 4471.)"])
def test_what_is_drawn_on_a_page_is_told_once(contents: bytes, form: bool) -> None:
    """Such as a stamp that holds its text as a drawing alone."""
    entry, extra = drawn_form(b"Gate 4471.", 7)
    for kind in (b"/Subtype /Stamp ", b"/Subtype /FreeText "):
        text = read(Path("a.pdf"), noted([kind + contents + entry], form=form, extra=extra)).text
        assert text.count("Gate 4471.") == 1


def test_a_note_that_says_what_the_page_says_is_told_beside_it() -> None:
    text = read(Path("a.pdf"), noted([b"/Subtype /FreeText /Contents (Application.)"])).text
    assert text.count("Application.") == 2


def test_files_in_a_pdf_are_named() -> None:
    """They are not read, and nothing said so."""
    file = b"<< /Type /Filespec /F (deed.txt) /UF (deed.txt) /EF << /F 7 0 R >> >>"
    extra = b"<< /Type /EmbeddedFile /Length 3 >>\nstream\nabc\nendstream"
    found = read(Path("a.pdf"), noted([b"/Subtype /FileAttachment /FS " + file], extra=extra))
    assert found.notice == "attached files that are not read: deed.txt"


def test_a_scan_with_a_note_is_recognised_and_has_its_note() -> None:
    """What is typed on it is no text of its contents, for whose sake it would be left unread."""
    import ctypes
    import io

    from pypdfium2 import PdfDocument
    from pypdfium2.raw import FPDF_ANNOT_FREETEXT, FPDFAnnot_SetStringValue, FPDFPage_CreateAnnot

    document = PdfDocument(saved("PDF", drawn("Seen.")))
    page = document[0]
    note = FPDFPage_CreateAnnot(page, FPDF_ANNOT_FREETEXT)
    said = ctypes.create_string_buffer("Gate 4471.\0".encode("utf-16-le"))
    FPDFAnnot_SetStringValue(note, b"Contents", ctypes.cast(said, ctypes.POINTER(ctypes.c_ushort)))
    held = io.BytesIO()
    document.save(held)
    assert read(Path("a.pdf"), held.getvalue(), lambda _: "Seen.").text == "Seen.\n\nGate 4471."
    assert read(Path("a.pdf"), held.getvalue()).notice.startswith("1 of 1 pages hold no text")
