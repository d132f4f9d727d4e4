"""What the suite's numbers stand on: every model's settings in tests say how precise it is, GPU or not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from exact import DTYPE, exact, on_cpu, table
from hocket_daemon.engine.backends.format_choice import chosen
from hocket_daemon.engine.backends.transformers.loading import dtype_of

TESTS = Path(__file__).parent
DEVICES = [torch.device("cpu"), torch.device("cuda")]


def calls(path: Path) -> Iterator[str]:
    """The names of what a file calls."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                yield name


def test_no_test_leaves_a_models_precision_to_the_machine() -> None:
    """All of them are made in one place, in code; and configurations that tests write take their table from there."""
    sources = {path: path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py")}
    assert [path.name for path in sources if "ModelSettings" in calls(path)] == ["exact.py"]
    tables = {path.name for path, text in sources.items() if "[model]" + "\\nname" in text}
    assert tables <= {"measure_neighbour.py"}, "take exact.table()"


@pytest.mark.parametrize("device", DEVICES, ids=str)
def test_what_tests_mean_is_float32_on_every_device(device: torch.device) -> None:
    """Where `auto` is bfloat16 on a GPU."""
    assert dtype_of(exact().dtype, device) == torch.float32
    assert dtype_of("auto", device) == (torch.bfloat16 if device.type == "cuda" else torch.float32)
    assert f'dtype = "{DTYPE}"' in table(TESTS)


def test_a_gpu_changes_no_choice_of_a_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A set precision is transformers' own; and what asks for exact ids sees no GPU at all."""
    choices = []
    (tmp_path / "model.safetensors").touch()
    for present in (False, True):
        monkeypatch.setattr(torch.cuda, "is_available", lambda present=present: present)
        choices.append(chosen(tmp_path, exact().dtype))
        with on_cpu():
            assert not torch.cuda.is_available()
        assert torch.cuda.is_available() == present
    assert choices[0] == choices[1]
