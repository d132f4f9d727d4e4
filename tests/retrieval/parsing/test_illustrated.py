"""Laws of pictures inside files: what they show is found at their place, and where it is not read, that is said."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import docx
import pytest
from illustrated import MAKERS
from ocr_here import needs_ocr
from office_files import mail
from pictures import drawn, saved
from PIL import Image

from hocket_retrieval.parsing.formats.pictures.embedded import MAX_PICTURES
from hocket_retrieval.parsing.formats.pictures.recognition import MISSING, RECOGNISED, REMEDY
from hocket_retrieval.parsing.limits import RECOGNITION
from hocket_retrieval.parsing.outline import place_of
from hocket_retrieval.parsing.readers import read
from hocket_retrieval.parsing.sandboxes import Sandboxes
from shortened import shortened

SAID = "The ferry to Brightholm leaves at 7:40."
PICTURE = saved("PNG", drawn(SAID))
ICON = saved("PNG", drawn(size=(64, 64)))


@pytest.fixture(scope="module")
def sandboxes() -> Iterator[Sandboxes]:
    sandboxes = Sandboxes()
    yield sandboxes
    sandboxes.close()


def found_by(text: str) -> Callable[[Callable[[], Image.Image]], str]:
    """A recogniser that decodes each picture, and finds this in it."""

    def recognise(picture: Callable[[], Image.Image]) -> str:
        assert picture().size
        return text

    return recognise


@needs_ocr
@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_a_picture_is_read_where_it_stands(sandboxes: Sandboxes, name: str) -> None:
    data, place = MAKERS[name](PICTURE)
    parsed = sandboxes.read(Path(name), data, 64)
    start = parsed.text.index(SAID)
    assert place_of(parsed.outline, start, start + len(SAID)) == place
    assert parsed.notice == f"1 picture in it is {RECOGNISED}"


@pytest.mark.parametrize("name", MAKERS)
def test_what_stands_around_it_is_as_without_it(name: str) -> None:
    """And nothing of how the file refers to it is left."""
    data, _ = MAKERS[name](PICTURE)
    bare = read(Path(name), data).text
    assert "Before." in bare
    assert not any(part in bare for part in ("image1", "Pictures/", "base64", "![", "]("))
    recognised = re.sub(r"Attachment \w+\.png:", "", read(Path(name), data, found_by(SAID)).text)
    assert recognised.replace(SAID, "").split() == bare.split()


@pytest.mark.parametrize("name", MAKERS)
def test_where_nothing_recognises_it_is_counted(name: str) -> None:
    """One that decorates is not."""
    assert read(Path(name), MAKERS[name](PICTURE)[0]).notice == f"1 picture in it is not read, and {MISSING}: {REMEDY}"
    assert read(Path(name), MAKERS[name](ICON)[0]).notice == ""
    assert read(Path(name), MAKERS[name](ICON)[0], found_by(SAID)).notice == ""


@pytest.mark.parametrize("name", shortened(MAKERS, 3))
def test_a_broken_or_an_enormous_picture_costs_itself_alone(name: str) -> None:
    for picture in (
        PICTURE[:100] + b"\xff" * 400 + PICTURE[500:],
        saved("PNG", drawn(size=(8_000, 7_000)).convert("1")),
    ):
        found = read(Path(name), MAKERS[name](picture)[0], found_by(SAID))
        assert "Before." in found.text
        assert found.notice == "1 picture in it is not read"


def album(pages: int) -> bytes:
    """A Word file of so many different pictures, each twice."""
    document, out = docx.Document(), io.BytesIO()
    for number in range(pages):
        picture = saved("PNG", Image.new("RGB", (100, 100), (number, 0, 0)))
        for _ in range(2):
            document.add_picture(io.BytesIO(picture))
    document.add_paragraph("Typed.")
    document.save(out)
    return out.getvalue()


def test_each_picture_is_read_once_and_no_more_than_a_hundred_are() -> None:
    few = read(Path("a.docx"), album(3), found_by(SAID))
    assert (few.text.count(SAID), few.notice) == (3, f"3 pictures in it are {RECOGNISED}")
    many = read(Path("a.docx"), album(MAX_PICTURES + 2), found_by(SAID))
    assert many.text.count(SAID) == MAX_PICTURES
    assert f"2 pictures in it are not read, after the first {MAX_PICTURES}" in many.notice


def test_a_scan_that_is_attached_is_counted_where_nothing_recognises_it() -> None:
    scan = saved("PDF", drawn(SAID))
    notice = f"scan.pdf: 1 of 1 pages hold no text, and {MISSING}: {REMEDY}"
    assert read(Path("a.eml"), mail("Keys", "See.", {"scan.pdf": scan})).notice == notice


@needs_ocr
@pytest.mark.slow
def test_a_scan_that_is_attached_is_read(sandboxes: Sandboxes) -> None:
    parsed = sandboxes.read(Path("a.eml"), mail("Keys", "See.", {"scan.pdf": saved("PDF", drawn(SAID))}), 64)
    start = parsed.text.index(SAID)
    assert place_of(parsed.outline, start, start + 9) == "attachment scan.pdf, p. 1"


@needs_ocr
@pytest.mark.slow
def test_the_text_is_kept_where_its_pictures_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    sandboxes = Sandboxes()
    monkeypatch.setattr(sandboxes._recognising, "limits", RECOGNITION._replace(first_s=0.01, s_per_mib=0.0))
    try:
        parsed = sandboxes.read(Path("a.docx"), MAKERS["a.docx"](PICTURE)[0], 64)
    finally:
        sandboxes.close()
    assert parsed.text.split() == ["Lease", "Before.", "After."]
    assert parsed.notice.startswith("1 picture in it is not read: takes more than")
