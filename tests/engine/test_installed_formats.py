"""A published model's formats are made, checked and written down, and the daemons choose by it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from llama_here import needs_llama

import hocket_models
from exact import exact, on_cpu
from hocket_daemon.engine.backends.gguf_model import GGUFModel
from hocket_daemon.engine.catalog.engines import open_model
from hocket_daemon.engine.catalog.format_choice import reported
from hocket_daemon.engine.catalog.published import place
from hocket_tools.models.formats import add_formats, lacks_formats

pytestmark = needs_llama


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The bundled device model in the place of the published one."""
    monkeypatch.setenv("HOCKET_MODELS", str(tmp_path))
    shutil.copytree(
        hocket_models.path("device"), place("smollm2"), ignore=shutil.ignore_patterns("formats.json", "*.gguf")
    )
    return place("smollm2")


def test_formats_are_made_checked_and_chosen_from(folder: Path, gguf_file: Path) -> None:
    """Both are sound; whichever is faster here sings, and a second call has nothing to do."""
    assert lacks_formats(folder)
    told: list[str] = []
    add_formats(gguf_file, folder, told.append)
    assert not lacks_formats(folder)
    floats, half = reported(folder)
    assert (floats.model, floats.worse_by, floats.refused, half.model, half.refused) == (
        ".",
        None,
        "",
        "model.gguf",
        "",
    )
    assert half.worse_by is not None
    assert abs(half.worse_by) < 0.05
    with on_cpu():  # a GPU would be chosen before
        model = open_model(exact(name="smollm2", slots=2, context=64, dtype="auto"), "device")
    assert isinstance(model, GGUFModel) is (half.step_ms < floats.step_ms)
    assert "ms a step" in model.why
    assert not list(folder.glob(".*"))
    assert len(told) == 3


def test_a_set_precision_is_read_by_transformers(folder: Path, gguf_file: Path) -> None:
    add_formats(gguf_file, folder, lambda _: None)
    model = open_model(exact(name="smollm2", slots=2, context=64), "device")
    assert not isinstance(model, GGUFModel)
    assert model.precision == "float32"
