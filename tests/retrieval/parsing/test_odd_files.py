"""Laws of odd files that people have: what is stored of them is what their own program shows."""

from __future__ import annotations

import io
import json
from base64 import b64encode
from pathlib import Path

import docx
import pytest
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.text.paragraph import Paragraph
from office_files import book, speaking
from pictures import drawn, saved

from hocket_retrieval.errors import DocumentError
from hocket_retrieval.parsing.formats.encodings import decoded
from hocket_retrieval.parsing.readers import read


def places(name: str, data: bytes) -> list[tuple[str, str]]:
    """(place, the text there) of a file."""
    found = read(Path(name), data)
    outline = ((0, ""), *found.outline)
    ends = [offset for offset, _ in outline[1:]] + [len(found.text)]
    return [(place, found.text[start:end].strip()) for (start, place), end in zip(outline, ends, strict=True)]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_wide_characters_are_read_without_a_mark_that_says_so(encoding: str) -> None:
    assert decoded("Grüße aus Köln,\r\nund mehr.".encode(encoding)) == "Grüße aus Köln,\r\nund mehr."


@pytest.mark.parametrize("data", [b"ab\0\0cd\0\0", bytes(64), b"\x7fELF" + b"\1\0" * 40 + b"\0", b"a\0b\0c"])
def test_what_has_zeros_elsewhere_is_no_text(data: bytes) -> None:
    with pytest.raises(DocumentError, match="binary"):
        decoded(data)


def linked(paragraph: Paragraph, text: str, url: str) -> None:
    """Add a link, as Word does."""
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink"
    link, run, said = (OxmlElement(name) for name in ("w:hyperlink", "w:r", "w:t"))
    link.set(qn("r:id"), paragraph.part.relate_to(url, kind, is_external=True))
    said.text = text
    run.append(said)
    link.append(run)
    paragraph._p.append(link)


def test_a_word_file_has_no_marks_but_those_that_its_author_wrote() -> None:
    """Bold and slanted words, links, quotes and tabs, beside stars, bars and brackets that are text."""
    document = docx.Document()
    paragraph = document.add_paragraph("Some ")
    paragraph.add_run("bold").bold = True
    paragraph.add_run(" and ")
    paragraph.add_run("slanted").italic = True
    paragraph.add_run(" words, 2*3*4, a_b_c and [x](y).")
    document.add_paragraph("Not *these* and _these_.")
    document.add_paragraph("A quote.", style="Quote")
    document.add_paragraph("# no heading\tand a tab")
    linked(document.add_paragraph("See "), "the site", "https://example.org/a_b_(c)")
    out = io.BytesIO()
    document.save(out)
    assert read(Path("a.docx"), out.getvalue()).text.split("\n\n") == [
        "Some bold and slanted words, 2*3*4, a_b_c and [x](y).",
        "Not *these* and _these_.",
        "A quote.",
        "# no heading and a tab",
        "See the site",
    ]


def test_notes_of_a_speaker_are_read_behind_their_slide() -> None:
    data = speaking(
        [("Plan", "Two points.", ""), ("Costs", "Forty euros.", "Smile here.\nThen wait."), ("End", "Bye.", "")]
    )
    assert places("a.pptx", data)[1:] == [
        ("slide 1", "Plan\n\nTwo points."),
        ("slide 2", "Costs\n\nForty euros."),
        ("slide 2, notes", "Smile here.\nThen wait."),
        ("slide 3", "End\n\nBye."),
    ]


def test_notes_of_a_book_are_numbers_and_no_addresses() -> None:
    chapter = '<h1>One</h1><p>It rained.<a href="#n1">1</a></p><aside id="n1"><p>All night.</p></aside>'
    assert read(Path("a.epub"), book("T", [chapter])).text == "One\n\nIt rained.[1]\n\nAll night."


def test_a_notebook_keeps_lines_and_shows_no_codes() -> None:
    """Of code and of what it printed; a heading counts for all cells below, and pictures are read."""
    picture = b64encode(saved("PNG", drawn("Seen."))).decode()
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Boats\n", "\n", "*All* of them."]},
        {
            "cell_type": "code",
            "metadata": {},
            "source": "def f():\n    return 1  # *no* heading",
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["one\n", "two\n"]},
                {"output_type": "error", "ename": "E", "evalue": "bad", "traceback": ["\x1b[0;31mE\x1b[0m: bad"]},
                {"output_type": "display_data", "data": {"image/png": picture, "text/plain": ["<Figure>"]}},
            ],
        },
    ]
    data = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
    code = "def f():\n    return 1  # *no* heading\n\none\ntwo\n\nE: bad\n\n<Figure>"
    found = read(Path("a.ipynb"), data, lambda _: "Seen.")
    assert found.text == f"Boats\n\nAll of them.\n\n{code}\n\nSeen."
    assert [place for _, place in found.outline] == ["§ Boats", "cell 2, picture"]


def test_an_outline_of_org_keeps_states_and_loses_drawers() -> None:
    text = (
        "* TODO [#A] Tax :home:\n  DEADLINE: <2026-11-27 Fri>\n  :PROPERTIES:\n  :ID: abc\n  :END:\n  :LOGBOOK:\n"
        "  CLOCK: [2026-11-27 Fri 10:00]\n  :END:\n  Send it to [[https://x.org][the office]].\n** DONE Call\nWell.\n"
    )
    assert places("a.org", text.encode())[1:] == [
        ("§ TODO: Tax", "TODO: Tax\n\nDEADLINE: <2026-11-27 Fri>\n\nSend it to the office."),
        ("§ TODO: Tax › DONE: Call", "DONE: Call\n\nWell."),
    ]


def test_a_chapter_of_latex_is_read_without_its_book() -> None:
    text = (
        "% no text\n\\section{Ein Caf\\'e}\\label{sec:a}\n\nNa\\\"ive gar\\c{c}ons~pay 10\\% % not that\n"
        "of it \\cite[p.~3]{knuth}.\n\n\\begin{verbatim}\nx % y~z\n\\end{verbatim}\n"
    )
    ((place, text_there),) = places("a.tex", text.encode())[1:]
    assert place == "§ Ein Café"
    expected = "Ein Café Naïve garçons pay 10% of it [knuth]. ``` x % y~z ```"
    assert text_there.split() == expected.split()


def test_headings_of_markdown_may_be_underlined_and_links_defined_elsewhere() -> None:
    text = "Boats\n=====\n\nSee [the *map*][m] and [x][y].\n\nOld\n---\n\n~~Gone~~ and ==here==, a==b==c.\n\n[m]: https://x.org\n"
    assert places("a.md", text.encode())[1:] == [
        ("§ Boats", "Boats\n\nSee the map and [x][y]."),
        ("§ Boats › Old", "Old\n\nGone and here, a==b==c."),
    ]


def test_a_line_below_a_list_or_a_table_underlines_nothing() -> None:
    text = "- one\n---\n\n| a |\n---\n\ntext\n\n---\n\n# One\ntext\n---\n"
    assert [place for place, _ in places("a.md", text.encode())][-1] == "§ One"
    assert len(places("a.md", text.encode())) == 2


def test_tables_of_a_page_are_rows_and_code_keeps_its_lines() -> None:
    """Also a table inside one that is there for the eye; what is hidden is not shown."""
    inner = "<table><tr><th>Name<th>Price<tr><td>Kettle<td>29.5</table>"
    text = (
        f"<table><tr><td>{inner}<td>Beside</table><pre>def f():\n    return 1\n</pre>"
        "<p hidden>No</p><p style='display: none'>No</p><select><option>A<option>B</select>"
    )
    assert read(Path("a.html"), text.encode()).text == (
        "Name | Price\n\nKettle | 29.5\n\nBeside\n\ndef f():\n    return 1\n\nA B"
    )
    rows = "".join(f"<tr><td>kettle {number}<td colspan=2>{number}<td>Ystad" for number in range(20))
    long = read(Path("a.html"), f"<table><tr><th>Item<th>No.<th><th>Town{rows}</table>".encode()).text
    assert long.split("\n\n")[7] == "Item: kettle 7, No.: 7, Town: Ystad"
