"""Laws of the choice among a published model's formats: the fastest that is there and sound, or transformers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hocket_bus.errors import BadConfiguration
from hocket_daemon.engine.backends.format_choice import chosen, report
from hocket_daemon.engine.catalog.checking import Check


def checked(model: str, step_ms: float, refused: str = "") -> Check:
    return Check(model, "bfloat16", 4.0, 0.0, 0.0, step_ms, refused)


@pytest.fixture(autouse=True)
def _a_cpu_with_llama(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hocket_daemon.engine.backends.format_choice.obstacle", lambda: None)
    monkeypatch.setattr("hocket_daemon.engine.backends.format_choice.has_gpu", lambda: False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Float weights, and a GGUF file that is twice as fast."""
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    (tmp_path / "model.safetensors").touch()
    report(tmp_path, [checked(".", 20.0), checked("model.gguf", 10.0)])
    return tmp_path


def test_the_fastest_is_chosen_and_says_why(folder: Path) -> None:
    place, why = chosen(folder, "auto")
    assert place == folder / "model.gguf"
    assert "10.0" in why
    assert "20.0" in why
    report(folder, [checked(".", 9.0), checked("model.gguf", 10.0)])
    assert chosen(folder, "auto").place == folder


def test_what_is_refused_or_gone_is_not_chosen(folder: Path) -> None:
    report(folder, [checked(".", 20.0), checked("model.gguf", 1.0, "a kernel is wrong")])
    assert chosen(folder, "auto").place == folder
    report(folder, [checked(".", 20.0), checked("other.gguf", 1.0)])
    assert chosen(folder, "auto").place == folder


def test_a_report_that_cannot_be_read_is_none(folder: Path) -> None:
    (folder / "formats.json").write_text('[{"model": 3}]')
    place, why = chosen(folder, "auto")
    assert place == folder
    assert "hocket model get" in why


def test_a_precision_a_gpu_or_no_llama_means_transformers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen(folder, "float32").place == folder
    monkeypatch.setattr("hocket_daemon.engine.backends.format_choice.has_gpu", lambda: True)
    assert chosen(folder, "auto").place == folder
    monkeypatch.setattr("hocket_daemon.engine.backends.format_choice.has_gpu", lambda: False)
    missing = BadConfiguration("llama.cpp is installed, but needs libgomp.so.1", "apt-get install libgomp1")
    monkeypatch.setattr("hocket_daemon.engine.backends.format_choice.obstacle", lambda: missing)
    place, why = chosen(folder, "auto")
    assert place == folder
    assert str(missing) in why


def test_a_file_that_no_llama_reads_says_what_llama_lacks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing else is there to be read; not that it should be got or checked once more."""
    (folder / "model.safetensors").unlink()
    missing = BadConfiguration("llama.cpp is installed, but needs libgomp.so.1", "apt-get install libgomp1")
    monkeypatch.setattr("hocket_daemon.engine.backends.format_choice.obstacle", lambda: missing)
    with pytest.raises(BadConfiguration, match=re.escape(str(missing))):
        chosen(folder, "auto")
