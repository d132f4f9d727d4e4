"""Laws of text recognition: what a picture shows is found at its page, and where it is missing that is said."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ocr_here import needs_ocr
from office_files import pdf
from pictures import bound, clear, columns, drawn, saved, turned

from hocket_retrieval.collection import Collection
from hocket_retrieval.errors import DocumentError
from hocket_retrieval.parsing.formats.pictures import recognition
from hocket_retrieval.parsing.formats.pictures.recognition import MISSING, RECOGNISED, REMEDY
from hocket_retrieval.parsing.limits import RECOGNITION
from hocket_retrieval.parsing.sandbox import Parsed
from hocket_retrieval.parsing.sandboxes import Sandboxes
from toys import ToyEmbedder

SAID = "The ferry to Brightholm leaves at 7:40."
KEYS = "The two keys hang beside the kitchen door."
KINDS = {
    "a.png": saved("PNG", drawn(SAID)),
    "clear.png": saved("PNG", clear(SAID)),
    "fax.tif": saved("TIFF", drawn(SAID).convert("1"), compression="group4"),
    "a.jpg": saved("JPEG", drawn(SAID)),
    "a.JPEG": saved("JPEG", drawn(SAID).convert("L")),
    "a.webp": saved("WEBP", drawn(SAID)),
    "turned.jpg": saved("JPEG", drawn(SAID).rotate(90, expand=True), exif=turned()),
}


@pytest.fixture(scope="module")
def sandboxes() -> Iterator[Sandboxes]:
    sandboxes = Sandboxes()
    yield sandboxes
    sandboxes.close()


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if the extra were not installed, in the processes of the sandboxes, too."""
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    recognition.is_installed.cache_clear()
    yield
    recognition.is_installed.cache_clear()


def places(read: Parsed) -> dict[str, str]:
    ends = [offset for offset, _ in read.outline[1:]] + [len(read.text)]
    return {place: read.text[start:end].strip() for (start, place), end in zip(read.outline, ends, strict=True)}


@needs_ocr
@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_what_a_picture_shows_is_read(sandboxes: Sandboxes, name: str) -> None:
    """And said to be recognised."""
    read = sandboxes.read(Path(name), KINDS[name], 64)
    assert (read.text, read.notice) == (SAID, RECOGNISED)


@needs_ocr
@pytest.mark.slow
def test_each_page_of_a_tiff_has_its_place(sandboxes: Sandboxes) -> None:
    data = saved("TIFF", drawn(SAID), drawn(), drawn(KEYS), compression="tiff_lzw")
    assert places(sandboxes.read(Path("a.tiff"), data, 64)) == {"p. 1": SAID, "p. 3": KEYS}


@needs_ocr
@pytest.mark.slow
def test_scanned_pages_of_a_pdf_are_recognised_and_the_others_left_as_they_are(sandboxes: Sandboxes) -> None:
    scans = saved("PDF", drawn(SAID), drawn(KEYS), drawn("It is signed by Ada Lovelace."))
    read = sandboxes.read(Path("a.pdf"), bound(scans, pdf([["Typed, not drawn."]], [])), 64)
    assert places(read) == {
        "p. 1": SAID, "p. 2": KEYS, "p. 3": "It is signed by Ada Lovelace.", "p. 4": "Typed, not drawn.",
    }  # fmt: skip
    assert read.notice == f"3 of 4 pages are {RECOGNISED}"


@needs_ocr
@pytest.mark.slow
def test_an_empty_page_of_a_pdf_needs_no_recognition() -> None:
    sandboxes = Sandboxes()
    try:
        read = sandboxes.read(Path("a.pdf"), pdf([["Typed."], []], []), 64)
        assert (read.text, sandboxes._recognising._process) == ("Typed.", None)
    finally:
        sandboxes.close()


@needs_ocr
@pytest.mark.slow
def test_columns_are_read_one_after_another_and_rows_of_a_table_row_by_row(sandboxes: Sandboxes) -> None:
    left = [
        "The first column goes on down here",
        "to its third line, which is the last",
        "one before the second column begins.",
    ]
    right = [
        "Then comes the second one, with as",
        "many lines as the one before it has,",
        "and so ends the whole of this page.",
    ]
    read = sandboxes.read(Path("a.png"), saved("PNG", columns(left, right)), 64)
    assert read.text.split() == " ".join([*left, *right]).split()
    rows = sandboxes.read(Path("a.png"), saved("PNG", columns(["Kettle", "Teapot", "Saucer"], ["14", "22", "31"])), 64)
    assert rows.text.split() == ["Kettle", "14", "Teapot", "22", "Saucer", "31"]


@needs_ocr
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("blank.png", saved("PNG", drawn()), "holds no text: "),
        ("blank.pdf", saved("PDF", drawn()), "holds no text: "),
        ("cut.png", KINDS["a.png"][:2000], "not a readable .png file"),
        ("noise.jpg", bytes(range(256)), "is not a picture of its type: "),
        ("bomb.png", saved("PNG", drawn(size=(8000, 7000)).convert("1")), "has more than 50 million pixels: "),
    ],
)  # fmt: skip
def test_what_shows_nothing_or_harms_is_one_line(sandboxes: Sandboxes, name: str, data: bytes, reason: str) -> None:
    """And the next picture is read."""
    with pytest.raises(DocumentError) as caught:
        sandboxes.read(Path(name), data, 64)
    assert str(caught.value).startswith(f"{name}: {reason}")
    assert str(caught.value).isprintable()
    assert sandboxes.read(Path("a.png"), KINDS["a.png"], 64).text == SAID


@needs_ocr
@pytest.mark.slow
def test_the_process_that_recognises_has_the_limits_of_the_sandbox(sandboxes: Sandboxes) -> None:
    """And no more threads after a picture than before."""
    sandboxes.read(Path("a.png"), KINDS["a.png"], 64)
    process = sandboxes._recognising._process
    assert process is not None
    threads = len(os.listdir(f"/proc/{process.pid}/task"))
    sandboxes.read(Path("a.jpg"), KINDS["a.jpg"], 64)
    assert len(os.listdir(f"/proc/{process.pid}/task")) == threads
    limits = Path(f"/proc/{process.pid}/limits").read_text().splitlines()
    hard = {line[:26].strip(): line[26:].split()[1] for line in limits[1:]}
    assert {hard[f"Max {what}"] for what in ("open files", "processes", "file size", "core file size")} == {"0"}
    assert hard["Max address space"] == str(RECOGNITION.memory_bytes)


IN_THERE = """
import os, socket, sys, threading
from pathlib import Path
from hocket_retrieval.parsing import readers, sandboxed
from hocket_retrieval.parsing.limits import RECOGNITION

data = Path(sys.argv[1]).read_bytes()
sandboxed._load_parsers()
recogniser = sandboxed._loaded_recogniser()
if not os.getuid():  # root has no limit of threads
    os.setuid(65534)
sandboxed._lock_in(RECOGNITION)
for attempt in (lambda: open("/etc/passwd"), socket.socket, os.pipe, threading.Thread(target=print).start, os.fork):
    try:
        attempt()
    except (OSError, RuntimeError):
        continue
    raise SystemExit("something got out")
print(readers.read(Path(sys.argv[1]), data, recogniser).text)
"""


@needs_ocr
@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.tiff", "a.pdf"])
def test_no_file_no_socket_and_no_thread_is_needed_or_left(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(saved(name[2:].upper(), drawn(SAID)))
    command = [sys.executable, "-c", IN_THERE, str(tmp_path / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == (f"{SAID}\n", 0), done.stderr


@needs_ocr
@pytest.mark.slow
def test_pages_with_text_are_kept_where_the_others_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    sandboxes = Sandboxes()
    monkeypatch.setattr(sandboxes._recognising, "limits", RECOGNITION._replace(first_s=0.01, s_per_mib=0.0))
    try:
        data = bound(saved("PDF", drawn(SAID)), pdf([["Typed."]], []))
        read = sandboxes.read(Path("a.pdf"), data, 64)
    finally:
        sandboxes.close()
    assert read.text == "Typed."
    assert read.notice.startswith("1 of 2 pages hold no text: takes more than")


@needs_ocr
@pytest.mark.slow
def test_pages_on_which_nothing_is_recognised_are_counted_with_those_that_show_nothing(sandboxes: Sandboxes) -> None:
    data = bound(pdf([["Typed."], []], []), saved("PDF", drawn(), drawn(SAID)))
    read = sandboxes.read(Path("a.pdf"), data, 64)
    assert read.notice == f"2 of 4 pages hold no text; 1 of 4 pages are {RECOGNISED}"


@pytest.mark.parametrize("is_installed", [pytest.param(True, marks=[needs_ocr, pytest.mark.slow]), False])
def test_pages_that_show_nothing_are_counted(
    tmp_path: Path, missing: None, monkeypatch: pytest.MonkeyPatch, is_installed: bool
) -> None:
    """With text recognition and without, which would find nothing there."""
    if is_installed:
        monkeypatch.delitem(sys.modules, "rapidocr")
        recognition.is_installed.cache_clear()
    else:
        monkeypatch.setenv("PYTHONPATH", _without_rapidocr(tmp_path))
    file = tmp_path / "a.pdf"
    file.write_bytes(pdf([["Typed."], [], [], [], []], []))
    with Collection(tmp_path / "state", ToyEmbedder(dimension=8)) as collection:
        report = collection.ingest([file])
        assert (report.added, report.notices) == (1, [f"{file}: 4 of 5 pages hold no text"])
        assert skipped(collection) == {"a.pdf": "4 of 5 pages hold no text"}


def skipped(collection: Collection) -> dict[str, str]:
    return {Path(name).name: reason for name, reason in collection.skipped.page(0, 9)[0]}


def test_where_it_is_missing_that_is_said(tmp_path: Path, missing: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a picture in a folder, of one that is named, and of scanned pages, with what to install."""
    monkeypatch.setenv("PYTHONPATH", _without_rapidocr(tmp_path))
    files = tmp_path / "files"
    files.mkdir()
    data = {"a.png": KINDS["a.png"], "scan.pdf": saved("PDF", drawn(SAID))}
    data["half.pdf"] = bound(data["scan.pdf"], pdf([["Typed."]], []))
    for name, each in data.items():
        (files / name).write_bytes(each)
    with Collection(tmp_path / "state", ToyEmbedder(dimension=8)) as collection:
        report = collection.ingest([files])
        assert (report.added, report.skipped) == (1, 1)
        assert f"1 of them picture(s), and {MISSING}: {REMEDY}" in report.notices
        assert skipped(collection) == {
            "a.png": f"a picture, and {MISSING}: {REMEDY}",
            "half.pdf": f"1 of 2 pages hold no text, and {MISSING}: {REMEDY}",
            "scan.pdf": f"holds no text, and {MISSING}: {REMEDY}",
        }
        ((_, line),) = collection.ingest([files / "a.png"]).errors
        assert line == f"{files / 'a.png'}: a picture, and {MISSING}: {REMEDY}"


@needs_ocr
@pytest.mark.slow
def test_pages_that_were_passed_over_are_read_once_it_is_installed(
    tmp_path: Path, missing: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though their file has not changed; and then no more."""
    file = tmp_path / "half.pdf"
    file.write_bytes(bound(saved("PDF", drawn(SAID)), pdf([["Typed."]], [])))
    with monkeypatch.context() as without, Collection(tmp_path / "state", ToyEmbedder(dimension=8)) as collection:
        without.setenv("PYTHONPATH", _without_rapidocr(tmp_path))
        assert collection.ingest([file]).added == 1
        assert collection.ingest([file]).unchanged == 1
    monkeypatch.delitem(sys.modules, "rapidocr")
    recognition.is_installed.cache_clear()
    with Collection(tmp_path / "state", ToyEmbedder(dimension=8)) as collection:
        assert collection.ingest([file]).replaced == 1
        assert skipped(collection) == {"half.pdf": f"1 of 2 pages are {RECOGNISED}"}
        assert collection.ingest([file]).unchanged == 1


def _without_rapidocr(folder: Path) -> str:
    """A path on which Python finds an empty package of that name first, without models."""
    (folder / "hidden" / "rapidocr").mkdir(parents=True)
    (folder / "hidden" / "rapidocr" / "__init__.py").touch()
    return str(folder / "hidden")
