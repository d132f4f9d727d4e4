"""Laws of a model made from a GGUF file: the same weights and tokens, and there whole or not at all."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tiny_gguf
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from hocket_bus.errors import BadConfiguration, BadRequest, Unavailable
from hocket_daemon.engine.backends.automatic import place_of
from hocket_daemon.engine.backends.llamacpp.conversion import write_tokenizer, write_weights
from hocket_daemon.engine.catalog.catalogue import CATALOGUE
from hocket_daemon.engine.catalog.checking import TEXT
from hocket_daemon.engine.catalog.renewed import renewed
from hocket_daemon.engine.catalog.store import is_installed, place
from waiting import WAIT_S


def convert(file: Path, folder: Path, progress: Callable[[str], None]) -> None:
    """Make the folder anew of the file alone."""
    with renewed(folder, empty=True) as partial:
        write_tokenizer(file, partial)
        write_weights(file, partial, progress)


def listed(store: Path) -> list[str]:
    """What lies there, but for locks."""
    return [each.name for each in store.iterdir() if each.suffix != ".lock"]


def test_a_converted_file_is_the_model_that_it_was_written_from(tmp_path: Path) -> None:
    """Every weight equal, and every token under the same number; nobody else reads the folder."""
    written = tiny_gguf.write(tmp_path / "tiny.gguf")
    folder = tmp_path / "store" / "tiny"
    told: list[str] = []
    convert(tmp_path / "tiny.gguf", folder, told.append)
    read = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    ours, theirs = dict(read.named_parameters()), dict(written.named_parameters())
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    bundled, made = AutoTokenizer.from_pretrained(place_of("bundled", "device")), AutoTokenizer.from_pretrained(folder)
    assert made.get_vocab().items() >= bundled.get_vocab().items()  # transformers adds an end of text of its own
    assert made(TEXT)["input_ids"] == bundled(TEXT)["input_ids"]
    assert (folder.stat().st_mode & 0o777, folder.parent.stat().st_mode & 0o777) == (0o700, 0o700)
    assert told == ["reading the weights", "writing the weights"]
    assert listed(folder.parent) == ["tiny"]


@pytest.mark.parametrize("fault", ["no tensor", "cut short", "wrong magic"])
def test_a_file_that_is_no_whole_model_is_one_line_and_leaves_nothing(tmp_path: Path, fault: str) -> None:
    """What was there before stays."""
    file, folder = tmp_path / "tiny.gguf", tmp_path / "store" / "tiny"
    tiny_gguf.write(file, without="blk.0.attn_q.weight" if fault == "no tensor" else "")
    content = file.read_bytes()
    file.write_bytes(
        {"cut short": content[: len(content) // 2], "wrong magic": b"GGML" + content[4:]}.get(fault, content)
    )
    folder.mkdir(parents=True)
    (folder / "kept").touch()
    with pytest.raises(BadRequest, match=r"tiny\.gguf") as caught:
        convert(file, folder, lambda _: None)
    assert "\n" not in caught.value.text
    assert listed(folder.parent) == ["tiny"]
    assert [each.name for each in folder.iterdir()] == ["kept"]


def test_a_conversion_that_is_interrupted_leaves_nothing(tmp_path: Path) -> None:
    tiny_gguf.write(tmp_path / "tiny.gguf")

    def interrupted(told: str) -> None:
        if told == "writing the weights":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert(tmp_path / "tiny.gguf", tmp_path / "store" / "tiny", interrupted)
    assert listed(tmp_path / "store") == []


KILLED = """
import os, signal, sys
from pathlib import Path
from hocket_daemon.engine.backends.llamacpp.conversion import write_tokenizer, write_weights
from hocket_daemon.engine.catalog.renewed import renewed
def die(*_): os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[3] == "between":
    first = Path.rename
    Path.rename = lambda self, to: (first(self, to), die())
with renewed(Path(sys.argv[2]), empty=True) as partial:
    write_tokenizer(Path(sys.argv[1]), partial)
    write_weights(Path(sys.argv[1]), partial, lambda told: die() if told == sys.argv[3] else None)
"""


@pytest.mark.parametrize(
    "at",
    [
        pytest.param("between", marks=pytest.mark.slow),
        *(pytest.param(at, marks=pytest.mark.long) for at in ("reading the weights", "writing the weights")),
    ],
)
def test_after_a_kill_the_next_conversion_tidies_up(tmp_path: Path, at: str) -> None:
    """What was there is there again, even where it was being replaced, and nothing half written stays."""
    file, folder = tmp_path / "tiny.gguf", tmp_path / "store" / "tiny"
    tiny_gguf.write(file)
    folder.mkdir(parents=True)
    (folder / "kept").touch()
    killed = subprocess.run([sys.executable, "-c", KILLED, str(file), str(folder), at], check=False, timeout=WAIT_S)
    assert killed.returncode == -signal.SIGKILL
    assert folder.exists() is (at != "between")
    (tmp_path / "none.gguf").write_bytes(b"none")
    with pytest.raises(BadRequest):
        convert(tmp_path / "none.gguf", folder, lambda _: None)
    assert listed(folder.parent) == ["tiny"]
    assert (folder / "kept").exists()


def test_two_do_not_convert_at_once(tmp_path: Path) -> None:
    tiny_gguf.write(tmp_path / "tiny.gguf")
    folder = tmp_path / "store" / "tiny"

    def again(told: str) -> None:
        if told == "writing the weights":
            with pytest.raises(Unavailable, match="getting tiny"):
                convert(tmp_path / "tiny.gguf", folder, lambda _: None)

    convert(tmp_path / "tiny.gguf", folder, again)
    assert listed(folder.parent) == ["tiny"]


def test_a_published_name_means_its_folder_once_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, one line says what to run."""
    monkeypatch.setenv("HOCKET_MODELS", str(tmp_path))
    (name, *_) = CATALOGUE
    assert not is_installed(name)
    with pytest.raises(BadConfiguration, match=name) as caught:
        place_of(name, "cloud")
    assert f"hocket model get {name}" in caught.value.remedy
    place(name).mkdir()
    assert place_of(name, "device") == place_of(name, "cloud") == str(tmp_path / name)
