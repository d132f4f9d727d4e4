"""Laws of texts of OpenDocument and of slides: what a reader sees comes out, wherever in the page it stands."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest
from office_files import opened, slides

from hocket_retrieval.parsing.readers import read

MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"
BOX = "<draw:frame><draw:text-box><text:p>In a box.</text:p><text:p>Two.</text:p></draw:text-box></draw:frame>"
SHAPE = "<draw:custom-shape><text:p>In a box.</text:p><text:p>Two.</text:p></draw:custom-shape>"
GROUP = f"<draw:g>{SHAPE}</draw:g>"
CELL = "<table:table><table:table-row><table:table-cell>{}</table:table-cell></table:table-row></table:table>"


def text_of(body: str) -> str:
    return re.sub(r"\s+", " ", read(Path("a.odt"), opened("text", "text", body)).text)


@pytest.mark.parametrize("box", [BOX, SHAPE, GROUP])
def test_boxes_and_shapes_are_read_behind_the_paragraph_that_they_stand_in(box: str) -> None:
    """Anchored to a paragraph, to the page, or in a cell. Boxes were never tested in a text of OpenDocument."""
    assert text_of(f"<text:p>Before {box}behind.</text:p><text:p>End.</text:p>") == "Before behind. In a box. Two. End."
    assert text_of(f"{box}<text:p>End.</text:p>") == "In a box. Two. End."
    assert text_of(CELL.format(f"<text:p>Cell. {box}</text:p>")) == "Cell. In a box. Two."


@pytest.mark.parametrize(
    "inner",
    [
        "<text:p>Keys: <text:span>shed</text:span> gate</text:p>",
        "<text:p><text:span>Keys:<text:s/>shed</text:span><text:tab/>gate</text:p>",
        "<text:p>Keys:</text:p><text:list><text:list-item><text:p>shed</text:p></text:list-item>"
        "<text:list-item><text:p>gate</text:p></text:list-item></text:list>",
        "<text:p>Keys:<text:line-break/>shed</text:p><text:p>gate</text:p>",
        f"<text:p>Keys:</text:p>{CELL.format('<text:p>shed</text:p><text:p>gate</text:p>')}",
        "<text:p>Keys:<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>shed gate</text:p>"
        "</text:note-body></text:note></text:p>",
    ],
)
def test_all_of_a_cell_is_read(inner: str) -> None:
    """Also behind its first mark, where all was lost, with blanks between. Cells in tests had no marks in them."""
    assert text_of(CELL.format(inner)) == "Keys: shed gate"


def test_what_was_deleted_is_not_read_and_what_was_chosen_is() -> None:
    gone = "<text:deletion><text:p>Old.</text:p></text:deletion>"
    changes = (
        f'<text:tracked-changes><text:changed-region text:id="c">{gone}</text:changed-region></text:tracked-changes>'
    )
    chosen = '<text:drop-down><text:label text:value="red"/><text:label text:value="blue"/>blue</text:drop-down>'
    assert text_of(f'{changes}<text:p>It is <text:change text:change-id="c"/>{chosen}.</text:p>') == "It is blue."


def slide_of(shape: str) -> str:
    """The text of a slide with this in the place of a shape."""
    data = slides([("Title", "@")])
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    name = "ppt/slides/slide1.xml"
    parts[name] = re.sub(rb"<p:sp>(?:(?!<p:sp>).)*>@<.*?</p:sp>", shape.encode(), parts[name])
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as package:
        for each, part in parts.items():
            package.writestr(each, part)
    return read(Path("a.pptx"), held.getvalue()).text


def shape(inner: str) -> str:
    kind = '<p:nvSpPr><p:cNvPr id="3" name="B"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/>'
    return f"<p:sp>{kind}<p:txBody><a:bodyPr/><a:p>{inner}</a:p></p:txBody></p:sp>"


def test_of_several_forms_of_a_shape_one_is_read() -> None:
    """The first that says something. Both were lost, and no test had a shape in forms."""
    said, bare = shape("<a:r><a:t>Seven keys.</a:t></a:r>"), shape("")
    for first, second in ((said, said), (said, bare), (bare, said)):
        forms = f'<mc:Choice Requires="p14">{first}</mc:Choice><mc:Fallback>{second}</mc:Fallback>'
        found = slide_of(f'<mc:AlternateContent xmlns:mc="{MC}">{forms}</mc:AlternateContent>')
        assert found.split("\n\n") == ["Title", "Seven keys."]


def test_fields_of_a_slide_are_text_but_for_its_number() -> None:
    fields = '<a:fld id="{1}" type="datetime1"><a:rPr/><a:t>5 May</a:t></a:fld>'
    number = '<a:fld id="{2}" type="slidenum"><a:t>17</a:t></a:fld>'
    found = slide_of(shape(f"<a:r><a:t>On </a:t></a:r>{fields}{number}"))
    assert found.split("\n\n") == ["Title", "On 5 May"]
