"""Laws of the bundled models: they load, they are small, the tokenizer loses nothing, they read."""

import random
from functools import cache
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoTokenizer

from exact import exact, on_cpu
from hocket_bus.messages import Side
from hocket_daemon.engine.backends.format_choice import reported
from hocket_daemon.engine.backends.llamacpp.gguf_model import GGUFModel
from hocket_daemon.engine.backends.transformers.adapter import base_of
from hocket_daemon.engine.catalog.checking import MANY, check, nats_of
from hocket_daemon.engine.opening.engines import open_model
from hocket_lab.bench.composition.facts import Fact, is_right, make_facts
from hocket_lab.bench.composition.kinds import KINDS
from hocket_models import path
from shortened import shortened

SIDES = ("device", "cloud")
PASSAGE = (
    "It rained again in the afternoon. The wifi password of the cottage is {password}. Nobody answered the phone. "
    "{person} lives in {place}."
)


def prompt(tokenizer, passage: str, question: str) -> list[int]:
    """The three parts of a prompt, tokenised apart as the product does."""
    parts = (passage, f"\n\nQuestion: {question}\nAnswer:")
    return [0, *(i for part in parts for i in tokenizer.encode(part, add_special_tokens=False))]


def answer(side: str, passage: str, question: str) -> str:
    """The greedy answer of one side."""
    tokenizer = AutoTokenizer.from_pretrained(path(side))
    model = AutoModelForCausalLM.from_pretrained(path(side), dtype=torch.float32).eval()
    ids = torch.tensor([prompt(tokenizer, passage, question)])
    out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=48, pad_token_id=2)
    assert out[0, -1] == tokenizer.eos_token_id, "the answer does not end"
    return tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True).strip()


def test_path_refuses_an_unknown_name():
    """The sides have models, and composition has tuned ones."""
    with pytest.raises(ValueError, match="device, cloud, bundled-composition"):
        path("middle")


def test_the_tuned_models_are_small_and_have_the_tokenizers_of_their_bases():
    """The bundled one at most 12 MB in both formats, the adapter at most 10 MB; an adapter brings no tokenizer."""
    tuned, base = path("bundled-composition"), path("device")
    assert sum(file.stat().st_size for file in tuned.iterdir()) < 12e6
    assert (tuned / "tokenizer.json").read_bytes() == (base / "tokenizer.json").read_bytes()
    assert sum(file.stat().st_size for file in path("smollm2-composition").iterdir()) < 10e6
    assert base_of(path("smollm2-composition")) == "smollm2"


@pytest.mark.slow
@pytest.mark.parametrize("name", shortened([*SIDES, "bundled-composition"], 1))
def test_the_file_that_llama_cpp_reads_is_the_same_model(name: str) -> None:
    """It is what a CPU reads by default, as its report says; a token costs at most 0.01 nats more than in float32."""
    side: Side = "cloud" if name == "cloud" else "device"
    with on_cpu():
        quantised = open_model(exact(name=str(path(name)), slots=MANY, context=256, dtype="auto"), side)
    assert isinstance(quantised, GGUFModel)
    floats = open_model(exact(name=str(path(name)), slots=MANY, context=256), side)
    found = check(quantised, nats_of(floats))
    assert not found.refused
    assert found.worse_by is not None
    assert found.worse_by < 0.01
    assert found.nats == pytest.approx(reported(path(name))[0].nats, abs=0.01)


@pytest.mark.slow
def test_the_tuned_model_goes_on_from_memory_in_other_words():
    """Of each kind of the benchmark's facts one: most values come first, and more than the untuned model's."""
    facts = make_facts(len(KINDS), seed=11)
    right = {name: sum(goes_on_with(name, fact) for fact in facts) for name in ("device", "bundled-composition")}
    assert right["device"] < right["bundled-composition"] > 0.6 * len(facts)


@cache
def loaded(name: str):
    model = AutoModelForCausalLM.from_pretrained(path(name), dtype=torch.float32)
    return AutoTokenizer.from_pretrained(path(name)), model.eval()


def goes_on_with(name: str, fact: Fact) -> bool:
    """Whether the value follows what is typed in other words, where memory is the document alone."""
    tokenizer, model = loaded(name)
    parts = (f"{fact.document}\n\n", fact.beginning(own=False).strip())
    ids = torch.tensor([[0, *(i for part in parts for i in tokenizer.encode(part, add_special_tokens=False))]])
    out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=20, pad_token_id=2)
    return is_right(tokenizer.decode(out[0, ids.shape[1] :]), fact.value)


def test_both_models_together_stay_under_40_mb():
    """What is shipped is small."""
    files = [f for side in SIDES for f in Path(path(side)).iterdir()]
    assert sum(f.stat().st_size for f in files) < 40e6


def test_the_sides_share_one_tokenizer():
    """The same bytes on both sides, with the special tokens the configuration names."""
    first, second = ((path(side) / "tokenizer.json").read_bytes() for side in SIDES)
    assert first == second
    tokenizer = AutoTokenizer.from_pretrained(path("device"))
    assert tokenizer.convert_tokens_to_ids(["<|bos|>", "<|eos|>", "<|pad|>"]) == [0, 1, 2]


@pytest.mark.slow
@settings(max_examples=200)
@given(st.text())
def test_tokenizer_round_trips_any_text(text):
    """Nothing is lost in any alphabet, emoji and control characters included."""
    tokenizer = AutoTokenizer.from_pretrained(path("device")).backend_tokenizer
    assert tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=False) == text


def test_tokenizer_splits_digits():
    """Every digit is a token, so that numbers can be copied one digit at a time."""
    tokenizer = AutoTokenizer.from_pretrained(path("device"))
    number = "".join(random.Random(1).choice("0123456789") for _ in range(40))
    assert len(tokenizer.encode(number, add_special_tokens=False)) == 40


@pytest.mark.parametrize("side", SIDES)
def test_the_models_read(side):
    """Facts in the passage come back with names and numbers copied exactly."""
    facts = {"password": "marlin4071", "person": "Lenka Stromberg", "place": "Fernstad"}
    passage = PASSAGE.format(**facts)
    assert facts["password"] in answer(side, passage, "What is the wifi password of the cottage?")
    assert facts["place"] in answer(side, passage, f"Where does {facts['person']} live?")


@pytest.mark.parametrize("side", SIDES)
def test_context_reaches_1024_tokens(side):
    """The configuration allows at least 1,024 positions."""
    assert AutoModelForCausalLM.from_pretrained(path(side)).config.max_position_embeddings >= 1024
