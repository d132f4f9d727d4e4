"""Laws of reading: whatever a file is, what it says comes out of it, and what does not is told in one line."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from office_files import docx, epub, mail, odt, paragraph, pdf, pptx, xlsx

from hocket_retrieval.collection import Collection
from hocket_retrieval.errors import DocumentError
from hocket_retrieval.ingestion.walk import IGNORE_FILE, Walk
from hocket_retrieval.parsing.formats.encodings import decoded
from hocket_retrieval.parsing.formats.sheets.table import MAX_SHORT_ROWS
from hocket_retrieval.parsing.readers import read
from hocket_retrieval.parsing.sandbox import Sandbox
from hocket_retrieval.text.chunking import chunk
from shortened import shortened
from toys import ToyEmbedder

SAID = "The ferry to Brightholm leaves at 7:40."
SENT = SAID.encode()
FROM = b"From anna Fri Nov 27\n"
KINDS = {
    "a.txt": SENT,
    "a.md": b"---\ntitle: T\n---\n" + SENT,
    "a.html": b"<title>T</title><nav><a>Menu</a></nav><p>The <b>ferry</b> to Brightholm<br>leaves at 7:40.",
    "a.org": b"* T\n" + SENT,
    "a.rst": b"T\n=\n\n" + SENT,
    "a.tex": b"\\documentclass{article}\n\\begin{document}\n\n" + SENT + b"\n\n\\end{document}\n",
    "a.rtf": rb"{\rtf1\ansi " + SENT + rb"\par}",
    "a.docx": docx(f"<w:p><w:r><w:t>{SAID}</w:t></w:r></w:p>"),
    "a.pptx": pptx(SAID),
    "a.xlsx": xlsx("Boats", [["what", "who"], [SAID, "Ada"]]),
    "a.odt": odt(SAID),
    "a.epub": epub("T", SAID),
    "a.csv": b'what,who\n"' + SENT + b'",Ada\n',
    "a.tsv": b"what\twho\n" + SENT + b"\tAda\n",
    "a.eml": mail("T", SAID, {}),
    "a.mbox": FROM + mail("One", "Nothing.", {}) + b"\n" + FROM + mail("T", SAID, {}),
    "a.ipynb": b'{"cells": [{"cell_type": "markdown", "metadata": {}, "source": ["' + SENT + b'"]}], "metadata": {},'
    b' "nbformat": 4, "nbformat_minor": 5}',
    "a.json": b'{"said": "' + SENT + b'"}',
    "a.py": b"# " + SENT,
    "a.yaml": b"said: " + SENT,
}


def text_of(name: str, data: bytes) -> str:
    return read(Path(name), data).text


@pytest.mark.parametrize("name", shortened(KINDS, 5))
def test_every_kind_is_read_and_in_the_sandbox_as_outside(name: str) -> None:
    """There nothing can be opened any more, whatever a parser would like to look up."""
    outside = read(Path(name), KINDS[name])
    assert SAID in " ".join(outside.text.split())
    box = Sandbox()
    try:
        inside = box.read(Path(name), KINDS[name], 64)
    finally:
        box.close()
    assert (inside.title, inside.text, inside.notice, inside.outline) == outside


def test_a_word_file_says_what_it_says_when_all_changes_are_accepted() -> None:
    run = "<w:r><w:t xml:space='preserve'>{}</w:t></w:r>".format
    body = (
        f"<w:p>{run('The notice is ')}<w:ins>{run('three')}</w:ins><w:del><w:r><w:delText>two</w:delText></w:r></w:del>"
        f"{run(' months.')}</w:p><w:sdt><w:sdtContent><w:p>{run('It is signed.')}</w:p></w:sdtContent></w:sdt>"
    )
    assert text_of("a.docx", docx(body)) == "The notice is three months.\n\nIt is signed."


def test_what_is_attached_to_a_mail_is_read_and_what_is_not_is_named() -> None:
    found = read(Path("a.eml"), mail("Keys", "See below.", {"a.md": b"# Shed\n\n*Seven* keys.", "b.zip": b"PK"}))
    assert found.title == "Keys"
    assert "Seven keys." in found.text
    assert "b.zip" in found.notice
    assert "a.md" not in found.notice


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"])), min_size=1))
def test_code_is_kept_to_the_letter(lines: list[str]) -> None:
    """Whatever stands in a fence, but for what no document keeps: control characters and blanks at its ends."""
    code = "\n".join(["x" + line.replace("```", "") + "x" for line in lines])
    source = f"Before *this*.\n\n```sh\n{code}\n```\n\nAnd *that*.\n"
    outside = text_of("a.txt", f"Before this.\n\n{code}\n\nAnd that.\n".encode())
    assert text_of("a.md", source.encode()) == outside.translate({0xE000: None, 0xE001: None})


@pytest.mark.parametrize("rows", [MAX_SHORT_ROWS + 2, 400])
@pytest.mark.parametrize("name", ["a.csv", "a.md", "a.xlsx", "a.txt"])
def test_each_passage_of_a_long_table_names_the_columns(name: str, rows: int) -> None:
    names = ["id", "item", "place", "price"]
    table = [names, *([f"P-{number}", f"kettle {number}", "Ystad", f"{number}.50"] for number in range(rows))]
    made = {
        "a.csv": "\n".join(map(",".join, table)).encode(),
        "a.txt": "\n".join(map(",".join, table)).encode(),
        "a.xlsx": xlsx("Stock", table),
        "a.md": "\n".join("| " + " | ".join(row) + " |" for row in [names, ["---"] * 4, *table[1:]]).encode(),
    }
    fragments = chunk(text_of(name, made[name]))
    for number in range(rows):
        (piece,) = [piece for piece in fragments if f"P-{number}," in piece]
        assert all(f"{column}: " in piece for column in names)


def test_a_table_with_missing_values_keeps_its_columns_and_code_is_no_table() -> None:
    """A value that is a bar or a line of dashes is one; source that looks like a table stays as it is."""
    rows = "| a | b | c |\n|---|:-:|---|\n| | x | |\n| - | - | y\\| |\n"
    said = text_of("a.md", rows.encode()).split("\n\n")
    assert [row.strip() for row in said] == ["a | b | c", "| x |", "- | - | y|"]
    code = "alpha, beta, gamma\none, two, three\nfour, five, six"
    assert text_of("a.py", code.encode()) == code
    assert "alpha: one" in text_of("a.txt", code.encode())


def test_a_sentence_that_begins_as_mails_of_a_box_do_divides_none() -> None:
    said = "Dear Ben,\n\nFrom here on all is well."
    found = read(Path("a.mbox"), FROM + mail("One", said, {}))
    assert found.text.count("Subject: One") == 1
    assert "From here on all is well." in found.text


def test_a_text_with_commas_is_no_table() -> None:
    text = "First, we went home, all of us.\nThen, we ate, as one does.\nLast, we slept, and dreamt."
    assert text_of("a.txt", text.encode()) == text


ENCODED = {
    "gb18030": "会议在星期五下午三点举行。请带上去年的合同和发票。",
    "big5": "會議在星期五下午三點舉行。請帶上去年的合同和發票。",
    "shift_jis": "歯医者の予約は金曜日です。鍵は花瓶の下にあります。",
    "euc_jp": "歯医者の予約は金曜日です。鍵は花瓶の下にあります。",
    "euc_kr": "회의는 금요일입니다. 열쇠는 꽃병 아래에 있습니다.",
    "cp1251": "Встреча с врачом в пятницу. Ключ лежит под вазой.",
    "koi8_r": "Встреча с врачом в пятницу. Ключ лежит под вазой.",
    "cp1250": "Příliš žluťoučký kůň úpěl ďábelské ódy.",
    "cp1252": "Grüße aus Köln – 14 €",
    "cp1253": "Η συνάντηση είναι την Παρασκευή το απόγευμα.",
    "cp1254": "İstanbul'da toplantı Cuma günü yapılacak, ağaç şemsiye.",
    "cp1255": "הפגישה ביום שישי. המפתח מתחת לאגרטל.",
    "cp1256": "الاجتماع يوم الجمعة. المفتاح تحت المزهرية.",
    "iso8859_15": "Prix: 14 € à Nîmes",
    "mac_roman": "Grüße aus Köln",
}


@pytest.mark.parametrize("encoding", ENCODED)
def test_an_old_encoding_is_told_or_refused_and_never_guessed_wrongly(encoding: str) -> None:
    said = 3 * ENCODED[encoding]
    try:
        assert decoded(said.encode(encoding)) == said
    except DocumentError as error:
        assert "iconv" in error.remedy  # noqa: PT017 - either is right
        assert encoding not in {"gb18030", "shift_jis", "euc_jp", "big5", "cp1251", "koi8_r", "cp1252"}
    page = f"<meta charset={encoding}><p>{said}".encode(encoding)
    assert text_of("a.html", page) == said


def test_what_a_walk_passes_over_it_names(tmp_path: Path) -> None:
    """Types that nobody reads, folders of programs, links to folders, and what the user leaves out."""
    for name in (
        "a.md",
        "b.zip",
        "sub/c.md",
        "sub/draft.md",
        "node_modules/d.md",
        "env/e.md",
        "old/f.md",
        "sub/old/g.md",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text("Said.")
    (tmp_path / "env/pyvenv.cfg").write_text("home = /usr\n")
    (tmp_path / IGNORE_FILE).write_text("# not these\nold/\ndraft*\n")
    (tmp_path / "linked").symlink_to(tmp_path.parent)
    os.mkfifo(tmp_path / "sub" / IGNORE_FILE)
    walk = Walk([tmp_path])
    assert [Path(file.name).name for file in walk.files] == ["a.md", "c.md"]
    assert dict(walk.skipped) == {".zip": 1}
    assert ".zip" in walk.notices[0]
    assert all(name in walk.notices[1] for name in ("node_modules", "env", "old"))
    assert walk.errors == []
    assert walk.notices[2] == "1 link(s) to folders not followed (linked)"
    assert (str(tmp_path / "linked"), "a link to a folder, which is not followed: name the folder it leads to") in [
        *walk.passed_over
    ]


class Slow(ToyEmbedder):
    """Tells of each batch, and goes on when it is let."""

    def __init__(self) -> None:
        super().__init__(dimension=8)
        self.begun, self.go_on, self.batches = threading.Event(), threading.Event(), 0

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.batches += 1
        self.begun.set()
        assert self.go_on.wait(60)
        return super().documents(texts)


def test_a_file_that_is_removed_while_it_is_read_is_embedded_no_further(tmp_path: Path) -> None:
    long, note = tmp_path / "long.txt", tmp_path / "note.txt"
    long.write_text("\n\n".join(f"Paragraph {number} of many words." * 8 for number in range(3_000)))
    embedder = Slow()
    with Collection(tmp_path / "state", embedder) as collection:
        reading = threading.Thread(target=collection.ingest, args=([long],))
        reading.start()
        assert embedder.begun.wait(60)
        collection.remove([str(long)])
        embedder.go_on.set()
        reading.join(60)
        assert not reading.is_alive()
        assert embedder.batches <= 2
        note.write_text("Said.")
        assert collection.ingest([note]).added == 1
        assert [document.name for document in collection.documents()] == [str(note)]


def places(name: str, data: bytes) -> list[tuple[str, str]]:
    """(place, the text there) of a file, a line for each place."""
    found = read(Path(name), data)
    ends = [offset for offset, _ in found.outline[1:]] + [len(found.text)]
    return [
        (place, " ".join(found.text[start:end].split()))
        for (start, place), end in zip(found.outline, ends, strict=True)
    ]


def test_pages_of_a_word_file_are_those_that_word_saw() -> None:
    """Also where one ends inside a paragraph, which stays one; without its marks those breaks that were asked for."""
    seen, asked = "<w:lastRenderedPageBreak/>", '<w:br w:type="page"/>'
    body = (
        paragraph("Lease", "Heading1")
        + f"<w:p><w:r><w:t>It begins on the first</w:t></w:r><w:r>{seen}<w:t>and ends on the next.</w:t></w:r></w:p>"
        + paragraph("Half.", page=True)
        + f'<w:p><w:pPr><w:pStyle w:val="Heading2"/></w:pPr><w:r>{seen}<w:t>Deposit</w:t></w:r></w:p>'
        + paragraph("# two months")
    )
    assert places("a.docx", docx(body)) == [
        ("p. 1, § Lease", "Lease It begins on the first"),
        ("p. 2, § Lease", "and ends on the next. Half."),
        ("p. 3, § Lease › Deposit", "Deposit # two months"),
    ]
    assert "first and ends" in text_of("a.docx", docx(body))
    assert [place for place, _ in places("a.docx", docx(body.replace(seen, "")))][-1] == "p. 2, § Lease › Deposit"
    assert [place for place, _ in places("a.docx", docx(body.replace(seen, "").replace(asked, "")))] == [
        "§ Lease",
        "§ Lease › Deposit",
    ]


def test_bookmarks_of_a_pdf_are_headings_where_the_page_shows_them() -> None:
    """With the number that stands there; one that no line of its page shows begins nothing before the next page."""
    pages = [["Before", "1.2 Rent", "It is due."], ["A picture."], ["Then", "Late rent", "costs more."]]
    bookmarks = [("Rent", 0, 0), ("Nowhere", 0, 1), ("Late  Rent", 1, 2)]
    assert places("a.pdf", pdf(pages, bookmarks)) == [
        ("p. 1", "Before"),
        ("p. 1, § 1.2 Rent", "1.2 Rent It is due."),
        ("p. 2, § 1.2 Rent", "A picture."),
        ("p. 3, § Nowhere", "Then"),
        ("p. 3, § Nowhere › Late rent", "Late rent costs more."),
    ]


def test_what_only_looks_like_a_heading_is_none() -> None:
    """In code, in comments, in cells and in lines of other formats."""
    notes = b"# One\n```\n# code\n```\n<!--\n# Old\n-->\n#tag\ntext"
    assert [place for place, _ in places("a.md", notes)] == ["§ One"]
    assert "Old" not in text_of("a.md", notes)
    assert [place for place, _ in places("a.org", b"* One\n\n# a comment\n\ntext\n")] == ["§ One"]
    assert [place for place, _ in places("a.xlsx", xlsx("Boats", [["a", "b"], ["# One", "## Two"]]))] == [
        "sheet Boats, row 2"
    ]
    assert [place for place, _ in places("a.html", b"<body><h1></h1><p>a<h2>Two</h2>b")] == ["§ Two"]
