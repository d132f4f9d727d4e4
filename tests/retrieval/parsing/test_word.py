"""Laws of Word files: what a reader of the paper sees comes out, once and in its order, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from office_files import docx

from hocket_retrieval.parsing.formats.packages.tracked import as_shown
from hocket_retrieval.parsing.readers import read

MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"
VML = "urn:schemas-microsoft-com:vml"


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def para(inner: str, mark: str = "") -> str:
    return f"<w:p>{f'<w:pPr><w:rPr><w:{mark}/></w:rPr></w:pPr>' if mark else ''}{inner}</w:p>"


def changed(kind: str, inner: str) -> str:
    return f'<w:{kind} w:id="1" w:author="a">{inner}</w:{kind}>'


def row(inner: str, mark: str = "", cell: str = "") -> str:
    kinds = (f"<w:trPr><w:{mark}/></w:trPr>" if mark else "", f"<w:tcPr><w:{cell}/></w:tcPr>" if cell else "")
    return f"<w:tr>{kinds[0]}<w:tc>{kinds[1]}{inner}</w:tc></w:tr>"


def box(inner: str) -> str:
    drawn = f'<w:pict><v:shape xmlns:v="{VML}"><v:textbox><w:txbxContent>{inner}</w:txbxContent></v:textbox></v:shape>'
    return f"<w:r>{drawn}</w:pict></w:r>"


def both(inner: str) -> str:
    """A box in the form that programs of today read, and in the one for older programs."""
    old = box(inner).removeprefix("<w:r>").removesuffix("</w:r>")
    drawn = f"<w:drawing><w:txbxContent>{inner}</w:txbxContent></w:drawing>"
    forms = f'<mc:Choice Requires="wps">{drawn}</mc:Choice><mc:Fallback>{old}</mc:Fallback>'
    return f'<w:r><mc:AlternateContent xmlns:mc="{MC}">{forms}</mc:AlternateContent></w:r>'


CHANGES = {
    "moved": (para(changed("moveFrom", run("Old."))) + para(changed("moveTo", run("New."))), "New."),
    "moved paragraphs": (
        '<w:moveFromRangeStart w:id="1" w:name="m"/>' + para(changed("moveFrom", run("Old.")), "moveFrom")
        + '<w:moveFromRangeEnd w:id="1"/>' + para(changed("moveTo", run("New.")), "moveTo"), "New.",
    ),
    "deleted": (para(run("A ") + changed("del", "<w:r><w:delText>old </w:delText></w:r>") + run("boat.")), "A boat."),
    "deleted, as other programs write it": (para(run("A ") + changed("del", run("old ")) + run("boat.")), "A boat."),
    "deleted in an insertion": (para(changed("ins", run("A ") + changed("del", run("old ")) + run("bay."))), "A bay."),
    "inserted in a link": (para(f'<w:hyperlink w:anchor="x">{changed("ins", run("annex"))}</w:hyperlink>'), "annex"),
    "deleted end of a paragraph": (para(run("A kayak "), "del") + para(run("is here."), "del") + para(run(" Two.")),
                                   "A kayak is here. Two."),
    "a deleted row": (f"<w:tbl>{row(para(run('Old.')), 'del')}{row(para(run('New.')), 'ins')}</w:tbl>", "New."),
    "a row moved": (f"<w:tbl>{row(para(run('Old.')), 'moveFrom')}{row(para(run('New.')))}</w:tbl>", "New."),
    "a deleted cell": (f"<w:tbl>{row(para(run('Old.')), cell='cellDel')}{row(para(run('New.')))}</w:tbl>", "New."),
    "moved into a box": (para(run("A.") + both(para(changed("moveTo", run("New.")) + changed("moveFrom", run("O"))))),
                         "A.\n\nNew."),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_changes_are_read_as_accepted(change: str) -> None:
    """What was moved stands at its new place alone. Only insertions and deletions of runs were tested."""
    body, said = CHANGES[change]
    assert (
        read(Path("a.docx"), docx(para(run("Start.")) + body + para(run("End.")))).text == f"Start.\n\n{said}\n\nEnd."
    )


@pytest.mark.parametrize("form", [box, both])
def test_a_text_box_stands_behind_the_text_around_it_and_takes_none_of_it(form) -> None:
    """Once, whatever forms it has. Boxes were tested in paragraphs of their own, where there is no text to lose."""
    inner = para(run("In a box.")) + para(run("Two."))
    said = (
        para(run("Before ") + form(inner) + run("behind.")) + f"<w:tbl>{row(para(run('Cell ') + form(inner)))}</w:tbl>"
    )
    found = read(Path("a.docx"), docx(said + para(run("End.")))).text
    assert found.startswith("Before behind.\n\nIn a box.\n\nTwo.\n\nCell")
    assert found.count("In a box.") == 2
    assert found.endswith("End.")


@pytest.mark.parametrize(
    ("inner", "said"),
    [
        ("<w:t>KX</w:t><w:noBreakHyphen/><w:t>40718</w:t>", "KX-40718"),
        ("<w:t>one</w:t><w:cr/><w:t>two</w:t><w:ptab w:alignment='right'/><w:t>three</w:t>", "one two three"),
        ("<w:t>paid </w:t><w:sym w:font='Wingdings' w:char='F0FC'/><w:sym w:font='Arial' w:char='20AC'/>", "paid ✓€"),
        ("<w:t>so</w:t><w:softHyphen/><w:t>ft</w:t>", "soft"),
        (
            "<w:fldChar w:fldCharType='begin'><w:ffData><w:ddList><w:result w:val='1'/><w:listEntry w:val='red'/>"
            "<w:listEntry w:val='sea green'/></w:ddList></w:ffData></w:fldChar></w:r><w:r><w:instrText> FORMDROPDOWN "
            "</w:instrText></w:r><w:r><w:fldChar w:fldCharType='end'/>",
            "sea green",
        ),
    ],
)
def test_signs_that_are_no_text_are_read_as_what_they_look_like(inner: str, said: str) -> None:
    """A hyphen that was lost made another number; texts in tests held none but letters."""
    assert read(Path("a.docx"), docx(f"<w:p><w:r>{inner}</w:r></w:p>")).text == said


@pytest.mark.parametrize("part", [b"", b"<w:p", b"<a><b></a>", b"<w:document>\xff</w:document>"])
def test_a_damaged_part_stays_as_it_is(part: bytes) -> None:
    """Its reader tells of it."""
    assert as_shown(part) == part
