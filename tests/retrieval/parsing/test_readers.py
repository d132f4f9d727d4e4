"""Laws of reading files, on real files of every type."""

import io
import os
from pathlib import Path

import docx
import pytest

from hocket_retrieval.errors import DocumentError
from hocket_retrieval.ingestion.walk import read_bytes
from hocket_retrieval.parsing import readers
from hocket_retrieval.parsing.readers import Content, read


def pdf(text: str, title: str = "()") -> bytes:
    """A PDF of one page, written by hand: an object table, a font and one line of text; `title` is an object."""
    stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Title %s >>" % title.encode(),
    ]
    out, places = io.BytesIO(), []
    out.write(b"%PDF-1.4\n")
    for number, body in enumerate(objects, start=1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 7\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places))
    out.write(b"trailer << /Size 7 /Root 1 0 R /Info 6 0 R >>\nstartxref\n%d\n%%%%EOF\n" % start)
    return out.getvalue()


def word(paragraphs: list[str], table: list[list[str]], title: str) -> bytes:
    document = docx.Document()
    document.core_properties.title = title
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    grid = document.add_table(rows=len(table), cols=len(table[0]))
    for row, values in zip(grid.rows, table, strict=True):
        for cell, value in zip(row.cells, values, strict=True):
            cell.text = value
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def test_text():
    """Plain text comes as it is; its title is the file's name; old encodings and byte order marks are understood."""
    assert read(Path("note.txt"), "Grüße, 世界.\r\nZwei.".encode())[:2] == ("note", "Grüße, 世界.\nZwei.")
    assert read(Path("note.txt"), "Grüße".encode("cp1252")).text == "Grüße"
    assert read(Path("note.txt"), "Grüße".encode("utf-16")).text == "Grüße"
    assert read(Path("NOTE.TXT"), "\ufeffGrüße".encode()).text == "Grüße"


def test_one_damaged_byte_costs_one_character():
    """What is UTF-8 for the most part is read as that; what is not is in an old encoding."""
    said = "Zoë lives in Größe Street, Café №5"
    for damage in (b"\xff", "é".encode()[:1], "№".encode()[:2]):
        assert read(Path("note.txt"), said.encode() + damage + b" now").text == said + "\ufffd now"
    assert read(Path("note.txt"), "\ufeffÀ é".encode() + b"\xff.").text == "À é\ufffd."
    assert read(Path("note.txt"), "Größe, ÄÖÜ, Œuvre – “naïve”".encode("cp1252")).text == "Größe, ÄÖÜ, Œuvre – “naïve”"


def test_markdown():
    """Markup goes, words and code stay, the first heading is the title."""
    source = b"# The *Rhine*\n\nIt **flows** past [Cologne](http://a.b/c_(d)).\n\n```py\nx = `1`\n```\n<b>Bold</b>\n"

    title, text, *_ = read(Path("a.md"), source)

    assert title == "The Rhine"
    assert text.split() == ["The", "Rhine", "It", "flows", "past", "Cologne.", "x", "=", "`1`", "Bold"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("# Old town #\nWalls.", "Old town\n\nWalls."),
        ("##  Gates ##  \n\n\nTwo.", "Gates\n\nTwo."),
        ("#hash\n#\nText.", "#hash\n#\nText."),
        ("Before.\n\n   ~~~ py\n  x = 1\n   ~~~\nAfter.", "Before.\n\n  x = 1\n\nAfter."),
        ('See [the *map*](<a_b> "A map"), ![a tower](t.png) and [1].', "See the map, a tower and [1]."),
        ("**Two** __words__, ***both***; 2 ** 3 ** 4.", "Two words, both; 2 ** 3 ** 4."),
        ("`a_b`, ``c`` and ```d e```.", "a_b, c and d e."),
        ("A *b* _c_ snake_case_name 2*3*4 `*`", "A b c snake_case_name 2*3*4 *"),
        ("One<!-- not\n\n- this --> two <!---->three <!-- four", "One two three <!-- four"),
        ("> Quoted\n> twice", "Quoted\ntwice"),
        ("Ask <anna@example.org>, see <https://a.org/b_c?d=e>.", "Ask anna@example.org, see https://a.org/b_c?d=e."),
        ("<P class='x'>A<br/>b<BR />c <em>d</em> <h2>e</h2></p>", "Abc d e"),
        ("A `vector<int>` and a Map<String, Bird>, <name>", "A vector<int> and a Map<String, Bird>, <name>"),
    ],
)
def test_markup_goes_and_words_stay(source, text):
    """Each kind of markup, and what only looks like it."""
    assert read(Path("a.md"), source.encode()).text == text


def test_html():
    """What a reader sees is kept, block by block; scripts and styles are not."""
    source = b"""<html><head><title>Old  Town</title><style>p{}</style></head><body><script>var x;</script>
    <p>First <b>bold</b>
    line.</p><ul><li>One</li><li>Two</li></ul><table><tr><td>a</td><td>b</td></tr></table></body></html>"""

    assert read(Path("a.html"), source)[:2] == ("Old Town", "First bold line.\n\nOne\n\nTwo\n\na b")


def test_pdf():
    """The text layer and the title of a PDF are read."""
    assert read(Path("a.pdf"), pdf("The mill burned in 1902.", "(Mill)"))[:2] == ("Mill", "The mill burned in 1902.")


@pytest.mark.parametrize("title", ["2024", "[1 2]", "null", "<< /A 1 >>", "true"])
def test_a_title_that_is_no_text(title):
    """A PDF may call itself anything; its text is read all the same, and it has its file's name."""
    assert read(Path("a.pdf"), pdf("The mill burned in 1902.", title))[:2] == ("a", "The mill burned in 1902.")


@pytest.mark.parametrize("said", [Content(7, "text"), Content("", None), ("title",)])
def test_whatever_a_parser_says_is_a_document_or_its_fault(said, monkeypatch):
    """What comes from a foreign file may be of any type; no other error than a DocumentError leaves it."""
    monkeypatch.setitem(readers._READERS, ".pdf", lambda _: said)
    with pytest.raises(DocumentError, match=r"a\.pdf"):
        read(Path("a.pdf"), b"")


def test_docx():
    """Paragraphs and tables of a Word file come in their order."""
    content = read(Path("a.docx"), word(["First.", "Second."], [["Name", "Year"], ["Mill", "1902"]], "Report"))

    assert content[:2] == ("Report", "First.\n\nSecond.\n\nName | Year\n\nMill | 1902")


def test_a_merged_cell_is_said_once():
    """It spans several columns, but is one cell; other cells of equal text stay."""
    document = docx.Document()
    grid = document.add_table(rows=2, cols=3)
    grid.cell(0, 0).merge(grid.cell(0, 2)).text = "Mills"
    for cell, value in zip(grid.rows[1].cells, ["Old", "1902", "1902"], strict=True):
        cell.text = value
    out = io.BytesIO()
    document.save(out)
    assert read(Path("a.docx"), out.getvalue()).text == "Mills\n\nOld | 1902 | 1902"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.xyz", b"text"),
        ("noname", b"text"),
        ("a.pdf", b"this is no pdf"),
        ("a.pdf", pdf("")),
        ("a.pdf", pdf("The mill burned.")[:300]),
        ("a.docx", b"PK\x03\x04 broken"),
        ("a.txt", b"\x00\x01\x02"),
        ("a.txt", b"  \n "),
        ("a.html", b"<script>1</script>"),
        ("a.md", b""),
    ],
)
def test_a_bad_file_is_one_clear_line(name, data):
    """Unknown types, broken files and files without text each name the file and a remedy, in one line."""
    with pytest.raises(DocumentError) as caught:
        read(Path(name), data)

    assert str(caught.value).count(name) == 1
    assert "\n" not in str(caught.value)
    assert caught.value.remedy


def test_a_missing_file_is_a_clear_line(tmp_path):
    """A file that is not there is a DocumentError like any other."""
    with pytest.raises(DocumentError, match=r"none\.txt"):
        read_bytes(tmp_path / "none.txt")


def test_wide_padding_is_narrowed():
    """A table padded to thousands of columns is read in linear time, and no passage of it is too long to be sent."""
    rows = [f"row {number}" + " " * 100_000 + "end" + "\n \n" * 1_000 for number in range(20)]
    text = read(Path("a.txt"), "".join(rows).encode()).text
    assert text.split() == [word for number in range(20) for word in ("row", str(number), "end")]
    assert len(text) < 20 * 20
    assert "\n\n" in text
    assert "   four" in read(Path("a.txt"), b"three\n   four").text


def test_what_might_never_end_is_no_file(tmp_path):
    """A pipe and a device, whatever they are called; neither is opened."""
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "zero.txt").symlink_to("/dev/zero")
    for name in ("pipe.txt", "zero.txt"):
        with pytest.raises(DocumentError, match="not a regular file"):
            read_bytes(tmp_path / name)
