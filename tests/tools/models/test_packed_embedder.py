"""Laws of an embedder that is made of a packed file: weights, tokens and vectors are those that the file means."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from packed_file import BLOCK, WIDTH, in_four_bits, packed_file
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer

from hocket_retrieval.embedding.bert import Bert
from hocket_retrieval.embedding.bert_folder import is_bert
from hocket_retrieval.embedding.embedder import Embedder, Vectors
from hocket_retrieval.embedding.sentence_model import digest_of
from hocket_retrieval.embedding.torch_bert import TorchBert
from hocket_tools.models.packed_embedder import Packed, read, write

TEXTS = ["the singing", "a  query\tof the Ü\n", "①", "", "the " * 60]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Packed:
    file = tmp_path_factory.mktemp("packed") / "model.bin"
    file.write_bytes(packed_file())
    return read(file)


@pytest.fixture(scope="module")
def folder(packed: Packed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("model")
    write(packed, np.linspace(-0.2, 0.2, WIDTH, dtype=np.float32), made)
    return made


@given(st.lists(st.floats(-4, 4, width=32), min_size=BLOCK, max_size=BLOCK))
def test_a_block_of_four_bits_is_its_scale_times_its_weights(values: list[float]) -> None:
    """The lower half of each byte comes first."""
    row = np.array(values, np.float32)
    if not np.abs(row).max() > 1e-3:
        return
    scales, weights = in_four_bits(row)
    data = np.float16(scales[0]).tobytes() + (weights[0, :16] | weights[0, 16:] << 4).tobytes()
    found = Packed(data, None, [], 0, 2, 1, 3, {"row": (True, BLOCK, 0)}).tensor("row")  # type: ignore[arg-type]
    np.testing.assert_array_equal(found, (weights[0].astype(np.float32) - 8) * scales[0])
    assert np.abs(found - row).max() <= 0.51 * scales[0] + 1e-3


def test_the_library_and_our_bert_read_it_alike(folder: Path) -> None:
    """Vectors of length 1 around the centre, cut at the same token; and the same fingerprint."""
    assert is_bert(folder)
    theirs = SentenceTransformer(str(folder), local_files_only=True, device="cpu")
    ours, by_torch = Bert(folder), TorchBert(folder).to("cpu")
    wanted = theirs.encode(TEXTS, normalize_embeddings=True)
    with torch.inference_mode():
        found = torch.nn.functional.normalize(by_torch(by_torch.preprocess(TEXTS)), dim=1).numpy()
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    np.testing.assert_allclose(ours.documents(TEXTS), wanted, atol=1e-5)
    assert ours.digest == digest_of(theirs.state_dict(), theirs.max_seq_length)


def test_the_centre_is_taken_off_vectors_of_length_one(packed: Packed, folder: Path, tmp_path: Path) -> None:
    """And the rest is made of length 1 again."""
    write(packed, np.zeros(WIDTH, np.float32), tmp_path)
    plain, centred = (Embedder(str(each)).documents(TEXTS) for each in (tmp_path, folder))
    moved = plain - np.linspace(-0.2, 0.2, WIDTH, dtype=np.float32)
    np.testing.assert_allclose(centred, moved / np.linalg.norm(moved, axis=1, keepdims=True), atol=1e-5)


def test_a_question_and_a_document_have_the_prompts_that_the_model_was_trained_with(folder: Path) -> None:
    """The texts that are embedded are `query: …` and `passage: …`."""
    embedder = Embedder(str(folder))
    np.testing.assert_allclose(embedder.query("the ring"), _raw(folder, "query: the ring"), atol=1e-5)
    np.testing.assert_allclose(embedder.documents(["the ring"])[0], _raw(folder, "passage: the ring"), atol=1e-5)


def _raw(folder: Path, text: str) -> Vectors:
    row: Vectors = Bert(folder).query(text)
    return row


@settings(max_examples=200, deadline=None)
@given(text=st.text(alphabet=st.characters(codec="utf-8"), max_size=30))
def test_blanks_count_once_and_characters_by_their_compatible_form(text: str, folder: Path) -> None:
    """A text has the tokens of its NFKC form, and of that with single blanks."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    plain = unicodedata.normalize("NFKC", " ".join(text.split()))
    spaced = text.replace(" ", "  ")
    assert tokenizer.encode(spaced).ids == tokenizer.encode(text).ids
    if text == plain:
        assert tokenizer.encode(text.replace(" ", "\u3000")).ids == tokenizer.encode(text).ids


def test_tokens_are_the_likeliest_pieces(folder: Path) -> None:
    """Between the special ones at both ends."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert tokenizer.encode("the ring").tokens == ["<s>", "▁the", "▁", "r", "ing", "</s>"]
