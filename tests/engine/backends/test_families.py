"""Any family of models: what the model says of its rows is what transformers itself says of their tokens."""

from __future__ import annotations

import json
import random
from pathlib import Path

import families
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

import hocket_models
from exact import exact
from hocket_bus.errors import BadConfiguration
from hocket_bus.messages import Prompt
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.sampling.heads import mix
from hocket_daemon.engine.segments import Segment
from hocket_daemon.engine.settings import KVSettings
from hocket_daemon.engine.text.tokenizer import Prefix
from hocket_lab.forcing import distribution, read_at_once

SERVED = [family for family in families.FAMILIES if family != "gemma2"]
CONTEXT, WINDOW = 128, 16


def opened(folder: Path, **options: object) -> TransformersModel:
    return TransformersModel(exact(**{"name": str(folder), "slots": 4, "context": CONTEXT} | options), "device")  # type: ignore[arg-type]


def plain(folder: Path) -> PreTrainedModel:
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


@torch.inference_mode()
def expected_of(reference: PreTrainedModel, tokens: list[int], vocabulary: int) -> NDArray[np.float32]:
    """[vocabulary] behind the tokens by transformers' own forward pass, without any cache."""
    logits = reference(input_ids=torch.tensor([tokens]), use_cache=False).logits[0, -1, :vocabulary]
    return np.asarray(torch.softmax(logits.float(), -1).numpy())


@pytest.fixture(params=SERVED)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """One whose windows, if it has any, are as long as a row."""
    windowed = {"sliding_window": CONTEXT} if request.param == "gemma3_text" else {}
    return families.save(request.param, tmp_path, **windowed)


def test_rows_are_their_tokens_and_rolling_back_forgets(folder: Path) -> None:
    """In any company, with any lengths, as if they had been read at once."""
    model, reference, rng = opened(folder), plain(folder), random.Random(3)
    rows, held = model.slots.take(3), [[0], [0], [0]]
    model.read([Segment(rows, [list(tokens) for tokens in held])])
    for _ in range(4):
        segments = []
        for at, row in enumerate(rows):
            held[at] = held[at][: rng.randint(1, len(held[at]))]
            model.slots.roll_back(row, len(held[at]))
            more = [rng.randrange(3, 2000) for _ in range(rng.randint(1, 5))]
            held[at] = held[at] + more
            segments.append(Segment([row], [more]))
        for tokens, read in zip(held, model.read(segments), strict=True):
            expected = expected_of(reference, tokens, model.vocabulary)
            np.testing.assert_allclose(read.probabilities[0], expected, atol=1e-5)
            assert expected.max() > 10 / model.vocabulary, "an even distribution would prove nothing"


def test_a_document_that_is_kept_reads_as_it_did(folder: Path, tmp_path: Path) -> None:
    model, ids = opened(folder), [0, *range(40, 60)]
    stored = TransformersModel(
        exact(name=str(folder), slots=4, context=CONTEXT), "device", KVSettings(folder=str(tmp_path / "kv"))
    )
    (row,) = stored.slots.take(1)
    stored.read([Segment([row], [[*ids, 77]])])
    assert stored.keep_ahead(row, Prefix("text", ids))
    (again,) = stored.slots.take(1)
    assert stored.restore(again, Prefix("text", ids), len(ids))
    fresh = model.slots.take(1)
    (expected,), (read,) = model.read([Segment(fresh, [[*ids, 99]])]), stored.read([Segment([again], [[99]])])
    np.testing.assert_allclose(read.probabilities, expected.probabilities, atol=1e-6)


def test_a_greedy_answer_is_that_of_the_mixture_of_transformers_own_passes(folder: Path) -> None:
    """Two passages and their weights: token by token the likeliest of the mixture, computed twice."""
    model, reference, weights = opened(folder), plain(folder), [0.7, 0.3]
    group = read_at_once(model, "what is it?", ["the first passage", "another one"], task="answer", room=12)
    tokens: list[int] = []
    for _ in range(12):
        ours = distribution(group, tokens, weights)
        theirs = mix(
            np.stack([expected_of(reference, prompt + tokens, model.vocabulary) for prompt in group.prompts]), weights
        )
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
        assert int(ours.argmax()) == int(theirs.argmax())
        tokens.append(int(ours.argmax()))


@pytest.mark.parametrize("family", ["mistral", "gemma3_text"])
def test_a_window_that_is_shorter_than_a_row_is_served_up_to_its_length(family: str, tmp_path: Path) -> None:
    """Said so, and exact to the last token."""
    folder = families.save(family, tmp_path, sliding_window=WINDOW)
    model, reference = opened(folder), plain(folder)
    assert model.slots.context == WINDOW
    assert f"{WINDOW} tokens" in model.why
    tokens = [0, *range(50, 50 + WINDOW - 1)]
    (read,) = model.read([Segment(model.slots.take(1), [tokens])])
    np.testing.assert_allclose(read.probabilities[0], expected_of(reference, tokens, model.vocabulary), atol=1e-5)


def test_what_cannot_be_served_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(BadConfiguration, match="gemma2") as refused:
        opened(families.save("gemma2", tmp_path))
    assert "\n" not in str(refused.value)


def test_a_padded_vocabulary_is_cut_to_the_tokenizers(tmp_path: Path) -> None:
    """Numbers without a token get no mass, and the rest sums to one."""
    model = opened(families.save("llama", tmp_path, vocabulary=families.VOCABULARY + 56))
    assert model.vocabulary == families.VOCABULARY
    (read,) = model.read([Segment(model.slots.take(1), [[0, 5]])])
    assert read.probabilities.shape == (1, families.VOCABULARY)
    assert abs(float(read.probabilities.sum()) - 1) < 1e-5


def test_every_end_is_an_end(tmp_path: Path) -> None:
    """Those of the generation's configuration and the tokenizer's own."""
    folder = families.save("llama", tmp_path)
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [7, 5]}))
    assert opened(folder).eos == [1, 5, 7]


@pytest.mark.parametrize("system", [True, False])
@pytest.mark.parametrize("bos", [True, False])
def test_prompts_with_and_without_a_system_line_and_a_beginning(system: bool, bos: bool, tmp_path: Path) -> None:
    """A document's ids and a question's are those of the whole turn, written once."""
    folder = families.save("llama", tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(hocket_models.path("device"))
    begin = "{{ '<|bos|>' }}" if bos else ""
    line = "{{ 'You help.\\n' }}" if system else ""
    turns = "{% for message in messages %}{{ 'User: ' + message['content'] + '\\n' }}{% endfor %}"
    tokenizer.chat_template = begin + line + turns + "{{ 'Answer:' }}"
    if not bos:
        tokenizer.bos_token = None
    tokenizer.save_pretrained(folder)
    model = opened(folder)
    layout = model.layout("answer")
    whole = model.prompt("what is it?", "answer")
    document = layout.document("A passage.")
    assert (document.count(0), whole.count(0)) == ((1, 1) if bos else (0, 0))
    text = tokenizer.decode([*document, *layout.question(Prompt(query="what is it?"))])
    assert text.count("You help.") == int(system)
    assert text.index("A passage.") < text.index("what is it?") < text.index("Answer:")
    assert model.prompt("kala", "complete")[0] == 0 or not bos
