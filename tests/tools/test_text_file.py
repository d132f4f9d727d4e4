"""Laws of a user's text file that is saved: whole or not at all, and in all that was not edited as it was written."""

from __future__ import annotations

import codecs
import errno
import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_bus.errors import BadRequest
from hocket_tools.text_file import TextFile
from hocket_tools.whole import replace

LONG = "the ferry to Brightholm leaves at seven\n" * 500
LINES = st.lists(st.tuples(st.sampled_from(["", "a", "b", "Ää", "\u2028\x0c"]), st.sampled_from(["\n", "\r\n", "\r"])))


@contextmanager
def disk_with(room: int) -> Iterator[None]:
    """No file may become larger than this."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def no_file_beside(monkeypatch: pytest.MonkeyPatch, number: int = errno.EACCES) -> None:
    """As in a folder that cannot be written; whoever runs the tests may be allowed everything."""
    opened = os.open

    def refuse(path: str | Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_EXCL:
            raise OSError(number, os.strerror(number), str(path))
        return opened(path, flags, mode)

    monkeypatch.setattr(os, "open", refuse)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize(
    ("written", "changed", "wanted"),
    [
        ("one\r\ntwo\r\n", "one\ntwo\nx", "one\r\ntwo\r\nx"),
        ("one\r\ntwo", "one\nnew\ntwo", "one\r\nnew\r\ntwo"),
        ("one\ntwo", "one\ntwo", "one\ntwo"),
        ("one", "one\n", "one\n"),
        ("a\r\nb\nc\rd\n", "a\nB\nc\nnew\nd\n", "a\r\nB\r\nc\rnew\rd\n"),
        ("a\r\nb\nc\nd\n", "0\na\nb\nd\n", "0\na\r\nb\nd\n"),
        ("\r\n\r\n", "", ""),
    ],
)
def test_marks_and_ends_of_lines_stay(tmp_path: Path, encoding: str, written: str, changed: str, wanted: str) -> None:
    """The end of each line that stayed, and for a new line the file's only one or that of the line before it."""
    file = tmp_path / "letter.txt"
    file.write_bytes(written.encode(encoding))
    letter = TextFile(file)
    assert letter.text == written.replace("\r\n", "\n").replace("\r", "\n")
    letter.save(changed)
    assert file.read_bytes() == wanted.encode(encoding)
    letter.save(changed)
    assert file.read_bytes() == wanted.encode(encoding)


@given(LINES, st.sampled_from([b"", codecs.BOM_UTF8]))
def test_what_is_not_edited_is_saved_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[str, str]], mark: bytes
) -> None:
    """Byte for byte, whatever ends its lines."""
    file = tmp_path_factory.getbasetemp() / "letter.txt"
    raw = mark + "".join(line + end for line, end in lines).encode()
    file.write_bytes(raw)
    letter = TextFile(file)
    letter.save(letter.text)
    assert file.read_bytes() == raw


@pytest.mark.parametrize("beside", [True, False])
def test_a_save_that_fails_leaves_the_file_as_it_was(
    tmp_path: Path, beside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With nothing beside it; also in a folder where no other file can be made, and where a file has two names."""
    if not beside:
        no_file_beside(monkeypatch)
    file = tmp_path / "letter.txt"
    file.write_text("Dear Ms Varga,\n")
    twin = tmp_path / "twin.txt"
    for _ in range(2):
        with disk_with(4096), pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
            TextFile(file).save(LONG)
        assert file.read_text() == "Dear Ms Varga,\n"
        if not twin.exists():
            assert os.listdir(tmp_path) == ["letter.txt"]
            twin.hardlink_to(file)
    TextFile(file).save(LONG)
    assert file.read_text() == twin.read_text() == LONG
    TextFile(file).save("short")
    assert file.read_text() == twin.read_text() == "short"


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_a_folder_that_cannot_be_written_keeps_no_file_from_being_saved(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is written where it is."""
    file = tmp_path / "letter.txt"
    file.write_text("before")
    no_file_beside(monkeypatch, number)
    TextFile(file).save(LONG)
    assert file.read_text() == LONG


def test_whose_and_what_a_file_is_stays(tmp_path: Path) -> None:
    """Its rights, its owner, the link that leads to it; a new one is as any other, also behind a link."""
    file, link, new = tmp_path / "letter.txt", tmp_path / "link", tmp_path / "new link"
    file.write_text("before")
    file.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(file, 12345, 23456)
    owner = (file.stat().st_uid, file.stat().st_gid)
    link.symlink_to("letter.txt")
    TextFile(link).save("after")
    assert link.is_symlink()
    assert file.read_text() == "after"
    assert (file.stat().st_uid, file.stat().st_gid) == owner
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    new.symlink_to("new.txt")
    before = os.umask(0o027)
    try:
        TextFile(new).save("new")
    finally:
        os.umask(before)
    assert (tmp_path / "new.txt").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "new.txt").stat().st_mode) == 0o640


def test_what_may_not_be_written_is_not_written_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file beside would take the place of one that its user has closed."""
    file = tmp_path / "letter.txt"
    file.write_text("before")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError):
        TextFile(file).save("after")
    assert file.read_text() == "before"


def test_devices_are_written_to(tmp_path: Path) -> None:
    """They have no place that could be taken."""
    replace(Path("/dev/null"), b"x")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(IsADirectoryError):
        replace(tmp_path, b"x")


@pytest.mark.parametrize("raw", [b"caf\xe9", b"\xff\xfex"])
def test_what_is_no_text_is_refused_before_it_could_be_spoilt(tmp_path: Path, raw: bytes) -> None:
    """In one line; so is a folder."""
    file = tmp_path / "letter.txt"
    file.write_bytes(raw)
    with pytest.raises(BadRequest, match="cannot be read as text"):
        TextFile(file)
    with pytest.raises(BadRequest, match="is not a file"):
        TextFile(tmp_path)
    assert file.read_bytes() == raw
