"""Laws of models from elsewhere: nothing in a model's folder is run, and what is refused is one line with a remedy."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import hocket_models
from exact import exact
from hocket_bus.errors import HocketError
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_retrieval.embedding.embedder import Embedder
from hocket_retrieval.embedding.reranker import Reranker
from hocket_retrieval.errors import ModelError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the device's bundled model."""
    return Path(shutil.copytree(hocket_models.path("device"), tmp_path / "model"))


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A file that exists once foreign code has run."""
    return tmp_path / "sprung"


def with_code(folder: Path, trap: Path) -> None:
    """A folder whose configuration names code beside it."""
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "foreign", "auto_map": {"AutoConfig": "foreign.C", "AutoModelForCausalLM": "foreign.M"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "foreign.py").write_text(f"open({str(trap)!r}, 'w').close()\nclass C: pass\nclass M: pass\n")


class _Spring:
    def __init__(self, trap: Path) -> None:
        self._trap = trap

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self._trap,)


def with_pickle(folder: Path, trap: Path) -> None:
    """A folder whose weights are a pickle that does something."""
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"weight": _Spring(trap)}))


def with_garbage(folder: Path, trap: Path) -> None:
    """A folder whose weights are damaged."""
    del trap
    (folder / "model.safetensors").write_bytes(b"\xff" * 64)


def model_of(folder: Path) -> None:
    TransformersModel(exact(name=str(folder)), "device")


@pytest.mark.parametrize("load", [model_of, lambda folder: Embedder(str(folder)), lambda folder: Reranker(str(folder))])
@pytest.mark.parametrize("spoil", [with_code, with_pickle, with_garbage])
def test_a_hostile_model_is_refused_in_one_line_and_nothing_of_it_runs(
    folder: Path,
    trap: Path,
    spoil: Callable[[Path, Path], None],
    load: Callable[[Path], object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody is asked either: a service has nobody to answer."""
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("a question nobody can answer"))
    spoil(folder, trap)
    with pytest.raises(HocketError) as refused:
        load(folder)
    assert str(folder) in refused.value.text
    assert "\n" not in str(refused.value)
    assert refused.value.remedy
    assert not trap.exists()


def test_the_remedy_for_code_and_pickles_says_what_they_are(folder: Path, trap: Path) -> None:
    with_pickle(folder, trap)
    with pytest.raises(HocketError, match="pickled weights are not read"):
        model_of(folder)
    with pytest.raises(ModelError, match="model.safetensors"):
        Embedder(str(folder))
    with_code(folder, trap)
    with pytest.raises(HocketError, match="needs its own code"):
        model_of(folder)
