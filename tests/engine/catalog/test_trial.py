"""Laws of the trial of a model: what ends its process, or holds it up, is one line, and a sound one is tried once."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path

import pytest
from llama_here import needs_llama

import hocket_models
from exact import exact
from hocket_bus.errors import BadConfiguration
from hocket_daemon.engine.opening import trial
from hocket_daemon.engine.opening.engines import open_model

LOOP = "{{% for {0} in range(99999) %}}"
ENDLESS = "".join(map(LOOP.format, "abc")) + 3 * "{% endfor %}"


@pytest.fixture(autouse=True)
def nothing_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the device's bundled model."""
    return Path(shutil.copytree(hocket_models.path("device"), tmp_path / "model"))


def with_template(folder: Path, template: str) -> None:
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "chat_template.jinja").unlink(missing_ok=True)
    (folder / "tokenizer_config.json").write_text(json.dumps(config | {"chat_template": template}))


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What is tried, in its order."""
    tried = list[Path]()
    before = trial._try

    def counted(place: Path) -> None:
        tried.append(place)
        before(place)

    monkeypatch.setattr(trial, "_try", counted)
    return tried


@pytest.mark.slow
def test_a_template_that_does_not_end_is_refused_in_one_line(folder: Path) -> None:
    """The line names the model, and what to do; the next start tries it again."""
    with_template(folder, ENDLESS)
    with pytest.raises(BadConfiguration, match="does not end") as refused:
        open_model(exact(name=str(folder)), "device")
    assert str(folder) in refused.value.text
    assert refused.value.remedy
    assert "\n" not in str(refused.value)
    assert not trial._remembered_in().exists()


@needs_llama
@pytest.mark.parametrize("with_it", ["os.abort()", "__import__('ctypes').string_at(0)"])
def test_a_file_at_which_llama_cpp_ends_the_process_is_refused_in_one_line(
    with_it: str, gguf_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As its assertions do, and a head that lies."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if 'hocket_daemon.engine.opening.tried' in sys.orig_argv:\n"
        "    from hocket_daemon.engine.backends.llamacpp import llama\n"
        f"    llama.Model.__init__ = lambda *_: {with_it}\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(BadConfiguration, match=r"crashes the program \(SIG") as refused:
        trial.try_out(gguf_file)
    assert str(gguf_file) in refused.value.text


@needs_llama
@pytest.mark.parametrize("layers", [0, 100_000])
def test_a_real_file_at_which_llama_cpp_aborts_is_refused_in_one_line(
    layers: int, gguf_file: Path, tmp_path: Path
) -> None:
    """A count of layers in its head is false: an assertion of llama.cpp ends the process that reads it."""
    whole, key = gguf_file.read_bytes(), b"llama.block_count"
    at = whole.index(struct.pack("<Q", len(key)) + key) + 8 + len(key) + 4  # behind the value's type
    lying = tmp_path / "lying.gguf"
    lying.write_bytes(whole[:at] + struct.pack("<I", layers) + whole[at + 4 :])
    with pytest.raises(BadConfiguration, match="crashes the program") as refused:
        trial.try_out(lying)
    assert str(lying) in refused.value.text
    assert "\n" not in str(refused.value)


def test_a_model_that_has_not_changed_is_tried_once(folder: Path, trials: list[Path]) -> None:
    """One that has is tried again, and so is another one."""
    for _ in range(3):
        trial.try_out(folder)
    assert trials == [folder]
    with_template(folder, "{{ messages[0].content }}")
    trial.try_out(folder)
    assert trials == [folder] * 2
    for _ in range(2):
        trial.try_out(hocket_models.path("cloud"))
    assert len(trials) == 3


def test_a_bundled_model_is_not_tried(trials: list[Path]) -> None:
    """It comes with hocket."""
    open_model(exact(name="bundled"), "device")
    assert trials == []


def test_what_is_remembered_has_a_bound(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The latest ones stay; a file that is broken is written anew."""
    monkeypatch.setattr(trial, "_try", lambda _: None)
    file = trial._remembered_in()
    file.parent.mkdir(parents=True)
    file.write_text("{")
    places = [Path(shutil.copytree(folder, folder.with_name(f"m{n}"))) for n in range(3)]
    monkeypatch.setattr(trial, "MAX_REMEMBERED", 2)
    for place in places:
        trial.try_out(place)
    assert list(json.loads(file.read_text())) == [str(place) for place in places[1:]]
