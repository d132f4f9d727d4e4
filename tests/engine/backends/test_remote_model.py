"""A model that a server has: its text is numbered as the same model's is elsewhere, and it computes nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hocket_models
from exact import exact
from hocket_bus.errors import BadConfiguration, BadRequest
from hocket_daemon.engine.opening.engines import open_model, remote_model
from hocket_daemon.engine.segments import Segment
from hocket_daemon.engine.settings import BUNDLED, ServerSettings
from waiting import WAIT_S

SERVER = ServerSettings(url="http://localhost:1", model="m")
WEIGHTS = shutil.ignore_patterns("*.safetensors", "*.gguf", "config.json", "formats.json")


@pytest.mark.parametrize("name", [BUNDLED, "tiny"])
def test_it_numbers_text_as_the_model_whose_tokenizer_it_has(
    name: str, tiny_models: dict[str, Path], tmp_path: Path
) -> None:
    """So a device and a cloud understand each other's tokens; of the folder no weights are needed."""
    place = name if name == BUNDLED else str(tiny_models["device"])
    whole = open_model(exact(name=place, slots=2, context=64), "device")
    folder = hocket_models.path("device") if name == BUNDLED else tiny_models["device"]
    shutil.copytree(folder, tmp_path / "tokenizer", ignore=WEIGHTS)
    here = remote_model(exact(name=str(tmp_path / "tokenizer")), SERVER, "device")
    assert (here.fingerprint, here.vocabulary, here.eos) == (whole.fingerprint, whole.vocabulary, whole.eos)
    text = 'The old mill, 41 "kala" €'
    assert here.continued(text) == whole.continued(text)
    assert here.text(whole.continued(text)) == text
    assert here.prompt(text, "answer") == whole.prompt(text, "answer")


def test_the_ends_of_an_answer_are_all_that_the_folder_names(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    """As other engines read them."""
    shutil.copytree(tiny_models["device"], tmp_path / "model", ignore=WEIGHTS)
    for listed, ends in ((7, [1, 7]), ([9, 1], [1, 9]), (None, [1])):
        (tmp_path / "model" / "generation_config.json").write_text(json.dumps({"eos_token_id": listed}))
        assert remote_model(exact(name=str(tmp_path / "model")), SERVER, "device").eos == ends


def test_whoever_asks_it_for_probabilities_is_told_what_to_do(tiny_models: dict[str, Path]) -> None:
    """In one line."""
    model = remote_model(exact(name=str(tiny_models["device"])), SERVER, "device")
    with pytest.raises(BadRequest, match="returns no probabilities: ask with --mode dispatch"):
        model.read([Segment([0], [[1]])])


def test_what_it_needs_is_asked_for(tmp_path: Path, tiny_models: dict[str, Path]) -> None:
    """A server, and a tokenizer."""
    with pytest.raises(BadConfiguration, match="there is no server"):
        remote_model(exact(name=str(tiny_models["device"])), ServerSettings(), "device")
    with pytest.raises(BadConfiguration, match="tokenizer is not on this machine"):
        remote_model(exact(name=str(tmp_path)), SERVER, "device")


def test_neither_torch_nor_transformers_is_loaded(tiny_models: dict[str, Path]) -> None:
    """A machine that only asks a server starts at once."""
    code = (
        "import sys\n"
        "from hocket_daemon.engine.opening.engines import remote_model\n"
        "from hocket_daemon.engine.settings import ModelSettings, ServerSettings\n"
        "remote_model(ModelSettings(name=sys.argv[1]), ServerSettings(url='http://localhost:1', model='m'), 'device')\n"
        "sys.exit(bool({'torch', 'transformers'} & sys.modules.keys()))"
    )
    command = [sys.executable, "-c", code, str(tiny_models["device"])]
    assert subprocess.run(command, timeout=WAIT_S, check=False).returncode == 0
