"""A model's GGUF file is laid beside its float weights, checked and written down, and the daemons choose by it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from llama_here import needs_llama

import hocket_models
from exact import exact, on_cpu
from hocket_daemon.engine.backends.format_choice import reported
from hocket_daemon.engine.backends.llamacpp.gguf_model import GGUFModel
from hocket_daemon.engine.catalog.store import place
from hocket_daemon.engine.opening.engines import open_model
from hocket_tools.models.formats import check_file, is_checked, lay

pytestmark = needs_llama


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The bundled device model's float weights in the place of a model that was got."""
    monkeypatch.setenv("HOCKET_MODELS", str(tmp_path))
    without = shutil.ignore_patterns("formats.json", "*.gguf")
    shutil.copytree(hocket_models.path("device"), place("smollm2"), ignore=without)
    return place("smollm2")


def test_a_file_is_laid_checked_and_chosen(folder: Path, gguf_file: Path) -> None:
    """The tokenizer that is there stays."""
    tokenizer = (folder / "tokenizer.json").read_bytes()
    assert is_checked(folder)
    told: list[str] = []
    lay(gguf_file, folder, told.append)
    assert not is_checked(folder)
    check_file(folder, 4.4, told.append)
    assert is_checked(folder)
    (found,) = reported(folder)
    assert (found.model, found.refused) == ("model.gguf", "")
    assert found.worse_by is not None
    assert abs(found.worse_by) < 0.05
    with on_cpu():  # a GPU would be chosen before
        model = open_model(exact(name="smollm2", slots=2, context=64, dtype="auto"), "device")
    assert isinstance(model, GGUFModel)
    assert "ms a step" in model.why
    assert not list(folder.glob(".*"))
    assert (folder / "tokenizer.json").read_bytes() == tokenizer
    assert len(told) == 2


def test_a_file_that_costs_too_much_is_not_read(folder: Path, gguf_file: Path) -> None:
    """The float weights are, where they are there."""
    lay(gguf_file, folder, lambda _: None)
    check_file(folder, 4.0, lambda _: None)
    assert "nats more" in reported(folder)[0].refused
    with on_cpu():
        assert not isinstance(open_model(exact(name="smollm2", slots=2, context=64, dtype="auto"), "device"), GGUFModel)


def test_a_set_precision_is_read_by_transformers(folder: Path, gguf_file: Path) -> None:
    lay(gguf_file, folder, lambda _: None)
    check_file(folder, None, lambda _: None)
    model = open_model(exact(name="smollm2", slots=2, context=64), "device")
    assert not isinstance(model, GGUFModel)
    assert model.precision == "float32"
