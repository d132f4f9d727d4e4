"""Laws of a model that comes from the Hugging Face hub: whole or not at all, by its hash, and gone on with."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from small_hub import COMMIT, SmallHub, small_hub
from typer.testing import CliRunner

import hocket_models
from exact import exact, on_cpu
from hocket_bus.errors import BadConfiguration, BadRequest, HocketError, Unavailable
from hocket_daemon.engine.backends.format_choice import report, reported
from hocket_daemon.engine.backends.llamacpp.gguf_model import GGUFModel
from hocket_daemon.engine.backends.transformers.loading import load
from hocket_daemon.engine.catalog.store import is_installed, place
from hocket_daemon.engine.opening.engines import open_model
from hocket_tools.commands.models.model import app
from hocket_tools.models.hub import download, listed
from hocket_tools.models.installing import install, planned
from waiting import WAIT_S

DEVICE = hocket_models.path("device")
FILE = "owner/tiny-GGUF:tiny.gguf"
GIVEN = bytes(range(256)) * 2048  # half a MiB


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallHub]:
    """The bundled device model in both formats, and a file to be broken off; the store is empty."""
    floats = {name: (DEVICE / name).read_bytes() for name in ("config.json", "tokenizer.json", "model.safetensors")}
    floats |= {"tokenizer_config.json": (DEVICE / "tokenizer_config.json").read_bytes(), "model.py": b"import os"}
    files = {"owner/tiny-GGUF": {"tiny.gguf": (DEVICE / "model.gguf").read_bytes()}, "owner/tiny": floats}
    files["owner/large"] = {"large.gguf": GIVEN}
    with small_hub(SmallHub(files)) as served:
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        monkeypatch.setenv("HOCKET_MODELS", str(tmp_path / "models"))
        yield served


def refused(*command: str) -> HocketError:
    """What a command ends with."""
    ended = CliRunner().invoke(app, list(command)).exception
    assert isinstance(ended, HocketError), ended
    assert "\n" not in ended.text
    return ended


def nothing_is_here() -> bool:
    store = place("x").parent
    return not store.exists() or not [each for each in store.iterdir() if not each.name.startswith(".")]


def test_a_file_is_got_checked_and_read_by_its_name(hub: SmallHub) -> None:
    """No float weights are made; a second call takes nothing."""
    said = CliRunner().invoke(app, ["get", FILE])
    assert said.exit_code == 0, said.output
    for word in ("apache-2.0", "owner/tiny-GGUF", "4 MB", "ms a step"):
        assert word in said.output.replace("\n", "")
    with on_cpu():
        model = open_model(exact(name=FILE, slots=2, context=64, dtype="auto"), "device")
    assert isinstance(model, GGUFModel)
    assert not list(place(FILE).glob("*.safetensors"))
    assert [each.name for each in place(FILE).parent.iterdir() if "downloads" in each.name] == []
    sent = hub.sent
    assert CliRunner().invoke(app, ["get", FILE]).exit_code == 0
    hub.status = 500  # nor is anybody asked
    assert CliRunner().invoke(app, ["get", FILE]).exit_code == 0
    assert hub.sent == sent
    assert CliRunner().invoke(app, ["show", FILE]).exit_code == 0
    assert place(FILE).name in CliRunner().invoke(app, ["list"], env={"COLUMNS": "400"}).output


def test_a_repository_of_weights_is_got_without_its_code(hub: SmallHub) -> None:
    """And read by transformers under the hub's own name."""
    assert CliRunner().invoke(app, ["get", "owner/tiny"]).exit_code == 0
    assert {each.name for each in place("owner/tiny").iterdir()} == {*hub.files["owner/tiny"]} - {"model.py"}
    assert open_model(exact(name="owner/tiny", slots=2, context=64), "device").precision == "float32"


@pytest.mark.slow
def test_a_file_in_a_folder_of_its_repository_is_got(hub: SmallHub) -> None:
    """And a file that a check refuses is said to be so where it is to be read."""
    hub.files["owner/many"] = {"eight/tiny.gguf": (DEVICE / "model.gguf").read_bytes()}
    name = "owner/many:eight/tiny.gguf"
    assert CliRunner().invoke(app, ["get", name]).exit_code == 0
    assert open_model(exact(name=name, slots=2, context=64, dtype="auto"), "device").vocabulary == 2048
    report(place(name), [replace(each, refused="a kernel is wrong") for each in reported(place(name))])
    with pytest.raises(BadConfiguration, match="a kernel is wrong"):
        open_model(exact(name=name, slots=2, context=64, dtype="auto"), "device")


def test_files_of_two_commits_are_not_mixed(hub: SmallHub, tmp_path: Path) -> None:
    repository = listed("owner/large")
    download(repository, repository.file("large.gguf"), tmp_path)
    hub.files["owner/large"]["large.gguf"] = GIVEN[::-1]
    later = replace(listed("owner/large"), commit="f" * 40)
    assert download(later, later.file("large.gguf"), tmp_path).read_bytes() == GIVEN[::-1]


@pytest.mark.slow
def test_float_weights_come_later_beside_the_file(hub: SmallHub) -> None:
    """The file is not downloaded again; without them a set precision says how to get them."""
    install(planned(FILE, floats=False), again=False, progress=lambda _: None)
    with pytest.raises(HocketError, match="no float weights"):
        open_model(exact(name=FILE, slots=2, context=64), "device")
    with pytest.raises(BadConfiguration, match="no float weights"):  # as an adapter, or training, would
        load(str(place(FILE)), torch.float32, torch.device("cpu"))
    sent = hub.sent
    install(planned(FILE, floats=True), again=False, progress=lambda _: None)
    assert hub.sent == sent
    assert open_model(exact(name=FILE, slots=2, context=64), "device").precision == "float32"


DOWNLOAD = """
import sys
from pathlib import Path
from hocket_tools.models.hub import download, listed
repository = listed("owner/large")
download(repository, repository.file("large.gguf"), Path(sys.argv[1]))
"""


@pytest.mark.parametrize(
    "part", [pytest.param(part, marks=() if part in (1, 6) else pytest.mark.slow) for part in range(1, 11)]
)
def test_what_was_downloaded_is_gone_on_with_after_a_kill(hub: SmallHub, tmp_path: Path, part: int) -> None:
    """Killed at one of ten places: the bytes that came are not asked for again, and the file is whole."""
    hub.holds_after = len(GIVEN) * part // 11
    killed = subprocess.Popen([sys.executable, "-c", DOWNLOAD, str(tmp_path)], env={**os.environ})
    try:
        assert hub.held.wait(WAIT_S)
        partial = next(iter(_partials(tmp_path)))
    finally:
        killed.send_signal(signal.SIGKILL)
        killed.wait(WAIT_S)
    assert not list(tmp_path.rglob("large.gguf"))
    have, hub.holds_after = partial.stat().st_size, None
    repository = listed("owner/large")
    file = download(repository, repository.file("large.gguf"), tmp_path)
    assert file.read_bytes() == GIVEN
    assert hub.asked[-1] == (f"bytes={have}-" if have else "")
    assert not list(tmp_path.rglob("*.partial"))


def begun(folder: Path, content: bytes) -> None:
    """What an earlier try has left."""
    (folder / COMMIT).mkdir()
    (folder / COMMIT / "large.gguf.partial").write_bytes(content)


def _partials(folder: Path) -> Iterator[Path]:
    while True:
        yield from folder.rglob("*.partial")


@pytest.mark.parametrize("at", [0, 1, 16384, 100_000, len(GIVEN) - 1, len(GIVEN)])
@pytest.mark.parametrize("ranges", [True, False])
def test_any_beginning_is_gone_on_with(hub: SmallHub, tmp_path: Path, at: int, ranges: bool) -> None:
    """Also by a server that sends all of it again."""
    hub.ranges = ranges
    repository = listed("owner/large")
    begun(tmp_path, GIVEN[:at])
    assert download(repository, repository.file("large.gguf"), tmp_path).read_bytes() == GIVEN


def test_another_file_than_the_known_one_is_refused(hub: SmallHub) -> None:
    """Whether the bytes are others, or the list already says so; nothing of it stays."""
    hub.forged.add("tiny.gguf")
    assert "sha256" in refused("get", FILE).text
    assert nothing_is_here()
    repository = listed("owner/large")
    with pytest.raises(BadRequest, match="sha256"):
        download(repository, repository.file("large.gguf"), place("x").parent, sha256="0" * 64)
    assert not list(place("x").parent.rglob("*.partial"))


def test_a_bad_beginning_is_not_built_upon_for_ever(hub: SmallHub, tmp_path: Path) -> None:
    """It is found out by the hash, and the next try begins anew."""
    repository = listed("owner/large")
    begun(tmp_path, b"other" * 100)
    with pytest.raises(BadRequest, match="sha256"):
        download(repository, repository.file("large.gguf"), tmp_path)
    assert download(repository, repository.file("large.gguf"), tmp_path).read_bytes() == GIVEN


def test_a_full_disk_is_one_line(hub: SmallHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the download, and in its middle."""
    usage = namedtuple("usage", "total used free")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: usage(10, 10, 1000))
        assert refused("get", FILE).text.startswith("the disk is full")
    assert nothing_is_here()

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for place_of_it in ("hub.http_get", "formats.shutil.copyfile"):
        with monkeypatch.context() as patch:
            patch.setattr(f"hocket_tools.models.{place_of_it}", full)
            patch.setattr(os, "link", full)
            assert refused("get", FILE).text.startswith("the disk is full")
        assert nothing_is_here()


def test_what_the_hub_refuses_is_one_line(hub: SmallHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model behind terms, one that is not there, a file that is not, and a server in trouble."""
    hub.gated.add("owner/tiny")
    gated = refused("get", "owner/tiny")
    assert "terms" in gated.text
    assert "HF_TOKEN" in gated.remedy
    assert "has no owner/nothing" in refused("get", "owner/nothing").text
    assert "tiny.gguf" in refused("get", "owner/tiny-GGUF:other.gguf").remedy
    assert "owner/tiny-GGUF:tiny.gguf" in refused("get", "owner/tiny-GGUF").remedy
    hub.status = 500
    assert "500" in refused("get", "owner/large").text
    assert "no model is called" in refused("get", "nothing").text
    assert nothing_is_here()


@pytest.mark.parametrize("setting", ["HF_ENDPOINT", "HTTP_PROXY"])
def test_a_hub_or_proxy_that_is_not_there_is_one_line(
    hub: SmallHub, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    """It says what to look at."""
    code = "from hocket_tools.models.hub import listed; listed('owner/large')"
    env = {**os.environ, "NO_PROXY": "", "no_proxy": "", setting: "http://127.0.0.1:9"}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    last = ran.stderr.strip().splitlines()[-1]
    assert "hocket_bus.errors.Unavailable: the hub cannot be reached" in last
    assert "HTTPS_PROXY" in last


def test_two_do_not_get_the_same_model_at_once(hub: SmallHub) -> None:
    plan = planned(FILE, floats=False)

    def again(_: str) -> None:
        with pytest.raises(Unavailable, match="another program"):
            install(plan, again=False, progress=lambda _: None)

    install(plan, again=False, progress=again)
    assert is_installed(FILE)
