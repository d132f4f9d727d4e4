"""Law of stored digests: one is that of the file's bytes, however it came to be what it is."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from hocket_daemon.engine.runtime import file_digest
from hocket_daemon.engine.runtime.file_digest import digest_of


def anew(file: Path) -> bytes:
    return hashlib.blake2b(file.read_bytes(), digest_size=32).digest()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of weights."""
    file = tmp_path / "model.gguf"
    file.write_bytes(b"weights" * 999)
    return file


def test_a_file_is_read_once(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At each start but the first the stored digest is taken."""
    first = digest_of(file, tmp_path / "kv")
    assert first == anew(file)
    monkeypatch.setattr(file_digest.hashlib, "file_digest", lambda *_: pytest.fail("it is read again"))
    assert digest_of(file, tmp_path / "kv") == first


def test_a_file_that_has_changed_is_read_again(file: Path, tmp_path: Path) -> None:
    """Written to, with its old time set again; replaced by another of equal size; or another file."""
    folder = tmp_path / "kv"
    digest_of(file, folder)
    was = file.stat()
    file.write_bytes(b"Weights" * 999)
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert digest_of(file, folder) == anew(file)
    other = tmp_path / "other.gguf"
    other.write_bytes(b"wEights" * 999)
    other.rename(file)
    assert digest_of(file, folder) == anew(file)


@pytest.mark.parametrize("stored", [b"", b"{}", b'{"version": [1], "digest": "xy"}', b"\xff"])
def test_what_is_stored_may_be_damaged(file: Path, tmp_path: Path, stored: bytes) -> None:
    """Or there is no room for it."""
    folder = tmp_path / "kv"
    digest_of(file, folder)
    (folder / "weights-digest.json").write_bytes(stored)
    assert digest_of(file, folder) == anew(file)
    (tmp_path / "a file").touch()
    assert digest_of(file, tmp_path / "a file" / "kv") == anew(file)
