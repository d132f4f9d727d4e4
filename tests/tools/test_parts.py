"""Laws of a model that comes in parts, each in a package: whole by its hash or not at all, and gone on with."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import zipfile
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import hocket_models
from hocket_bus.errors import BadRequest, HocketError, Unavailable
from hocket_daemon.engine.catalog import catalogue
from hocket_daemon.engine.catalog.catalogue import CATALOGUE, Known, PackageParts, numbered_parts
from hocket_daemon.engine.catalog.store import place
from hocket_tools.commands.models.model import app
from hocket_tools.models import installing, package
from hocket_tools.models.package import joined
from shortened import shortened

PARTS = 5
WHOLE = (hocket_models.path("device") / "model.gguf").read_bytes()
WANTED = PackageParts(
    numbered_parts("hocket-no-such-part", "1.0", [f"{number:064x}" for number in range(PARTS)]),
    len(WHOLE),
    hashlib.sha256(WHOLE).hexdigest(),
)
KNOWN = Known(title="Tiny", millions=1, licence="Apache-2.0", bytes=len(WHOLE), use="tests", gguf=WANTED)


class Index:
    """An index that has the parts of WHOLE; the download number `breaks_at` breaks off."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.breaks_at = -1
        self.damaged = ""

    def run(self, command: list[str], **_: object) -> None:
        folder = Path(command[command.index("-d") + 1])
        line = Path(command[command.index("-r") + 1]).read_text()
        name = line.partition("==")[0]
        if len(self.asked) == self.breaks_at:
            self.breaks_at = -1
            (folder / "half.whl").write_bytes(b"PK")
            raise subprocess.CalledProcessError(1, command, stderr="WARNING: retrying\nERROR: no route to host\nmore")
        self.asked.append(name)
        part = next(each for each in WANTED.parts if each.package == name)
        assert line == f"{name}==1.0 --hash=sha256:{part.wheel_sha256}\n"
        at, size = WANTED.parts.index(part), -(-len(WHOLE) // PARTS)
        with zipfile.ZipFile(folder / f"{name}.whl", "w") as wheel:
            content = WHOLE[at * size : (at + 1) * size]
            wheel.writestr(part.file, content[::-1] if name == self.damaged else content)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    """The catalogue has the model `tiny`; the store is empty."""
    made = Index()
    monkeypatch.setattr(subprocess, "run", made.run)
    monkeypatch.setenv("HOCKET_MODELS", str(tmp_path / "models"))
    for module in (catalogue, installing):
        monkeypatch.setattr(module, "CATALOGUE", {**CATALOGUE, "tiny": KNOWN})
    return made


def got() -> tuple[HocketError | None, str]:
    """What `hocket model get tiny` ends with, and what it says."""
    done = CliRunner().invoke(app, ["get", "tiny"])
    assert done.exception is None or isinstance(done.exception, HocketError), done.exception
    return done.exception, done.output.replace("\n", " ")


def here() -> list[str]:
    """What the store shows."""
    store = place("tiny").parent
    return [each.name for each in store.iterdir() if not each.name.startswith(".")] if store.exists() else []


def test_the_parts_are_joined_in_their_order_and_known_by_the_publishers_hash(index: Index) -> None:
    """Size, licence and packages are told first, then each part; nothing else stays on the disk."""
    error, said = got()
    assert error is None
    assert (place("tiny") / "model.gguf").read_bytes() == WHOLE
    assert index.asked == [part.package for part in WANTED.parts]
    for word in (
        "Apache-2.0",
        f"{len(WHOLE) / 1e6:.0f} MB",
        "hocket-no-such-part1 to hocket-no-such-part5",
        "part 5 of 5",
    ):
        assert word in said
    assert here() == ["tiny"]
    assert not [each for each in place("tiny").parent.iterdir() if "downloads" in each.name]


@pytest.mark.parametrize("cut", shortened(range(PARTS), 2))
def test_a_download_that_breaks_off_is_gone_on_with(index: Index, cut: int) -> None:
    """At any part: one line, nothing half done, and no part is downloaded twice."""
    index.breaks_at = cut
    error, _ = got()
    assert isinstance(error, Unavailable)
    assert error.text == f"hocket-no-such-part{cut + 1} 1.0 could not be downloaded (no route to host)"
    assert here() == []
    assert got()[0] is None
    assert index.asked == [part.package for part in WANTED.parts]
    assert (place("tiny") / "model.gguf").read_bytes() == WHOLE


def test_parts_that_make_another_file_are_refused_and_got_anew(index: Index) -> None:
    """A wheel may have its hash and still not be what the publisher made: nothing of it stays."""
    index.damaged = "hocket-no-such-part3"
    error, _ = got()
    assert isinstance(error, BadRequest)
    assert "not the file that the publisher made" in error.text
    assert here() == []
    index.damaged = ""
    assert got()[0] is None
    assert len(index.asked) == 2 * PARTS


def test_a_disk_that_is_full_is_said_before_anything_is_downloaded(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parts and the whole file have to fit."""
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 0, 2 * len(WHOLE) - 1))
    error, _ = got()
    assert isinstance(error, Unavailable)
    assert error.text.startswith("the disk is full (")
    assert index.asked == []
    assert here() == []


def test_what_a_kill_left_in_the_middle_of_a_download_goes(index: Index, tmp_path: Path) -> None:
    """A part that is whole stays, and one that is half written is written anew."""
    left = tmp_path / "hocket-left"
    left.mkdir()
    (left / "half.whl").write_bytes(bytes(9))
    first = tmp_path / f"{WANTED.parts[0].wheel_sha256}.partial"
    first.write_bytes(b"half")
    whole = joined(WANTED, tmp_path, lambda _: None)
    assert whole.read_bytes() == WHOLE
    assert [each.name for each in tmp_path.iterdir() if each.name != "models"] == [whole.name]
    assert joined(WANTED, tmp_path, lambda _: None) == whole
    assert index.asked == [part.package for part in WANTED.parts]


def test_each_part_of_the_catalogue_is_known_by_hash_and_by_place() -> None:
    """No two are the same, and each is one data file of its package."""
    for known in CATALOGUE.values():
        if isinstance(known.gguf, PackageParts):
            assert known.bytes == known.gguf.bytes
            wheels = [part.wheel_sha256 for part in known.gguf.parts]
            assert len(set(wheels)) == len(wheels)
            assert all(len(each) == 64 for each in [*wheels, known.gguf.sha256])
            assert {Path(part.file).suffix for part in known.gguf.parts} == {".bin"}


def test_another_version_of_an_installed_package_is_no_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the pinned version is, and only its data file."""
    part = replace(WANTED.parts[0], package="numpy", file="numpy/version.py")
    assert package.in_package(part) is None
