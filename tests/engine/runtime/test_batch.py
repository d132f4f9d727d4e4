"""The laws of decoding together: what a session reads does not depend on the others, and no slot is copied."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.profiler import ProfilerActivity, profile
from transformers import AutoTokenizer, LlamaConfig, OPTConfig, PretrainedConfig, Qwen2Config
from transformers.models.auto import AutoModelForCausalLM

from alone import alone
from exact import exact
from hocket_bus.errors import BadConfiguration
from hocket_bus.messages import Prompt
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.preemption import Interrupt, Preempted, Together
from hocket_daemon.engine.runtime.compute import DecodeRequest, decode
from hocket_daemon.engine.runtime.sequences import SequenceGroup, read
from hocket_lab.forcing import distribution, read_at_once

PASSAGES = ["kala mira duno, soretu limba", "tano", "meku relado sina borita kulo namira ditu sola"] * 2
COMMON = {
    "vocab_size": 420, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "max_position_embeddings": 512, "initializer_range": 0.4, "bos_token_id": 0, "eos_token_id": 1,
}  # fmt: skip
KINDS: dict[str, PretrainedConfig] = {
    "llama": LlamaConfig(**COMMON, intermediate_size=64, num_key_value_heads=4),
    "qwen2": Qwen2Config(**COMMON, intermediate_size=64, num_key_value_heads=2),
    "opt": OPTConfig(**COMMON, ffn_dim=64, word_embed_proj_dim=32, init_std=0.4),
}


@pytest.fixture(scope="module", params=list(KINDS))
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, tiny_models: dict[str, Path]):
    folder = tmp_path_factory.mktemp(request.param)
    torch.manual_seed(4)
    AutoModelForCausalLM.from_config(KINDS[request.param]).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny_models["device"]).save_pretrained(folder)
    return TransformersModel(exact(name=str(folder), slots=12, context=400, prefill_tokens=7), "device")


def opened(model: TransformersModel, rows: int, question: str = "mira soretu?") -> SequenceGroup:
    return read_at_once(model, question, PASSAGES[:rows], task="answer", room=40)


def request(group: SequenceGroup, answer: list[int]) -> DecodeRequest[np.ndarray]:
    return DecodeRequest(group, answer, lambda heads: heads.probabilities, Interrupt())


def together(requests: list[DecodeRequest[np.ndarray]]) -> list[np.ndarray]:
    decoded, _ = decode(requests[0].group.model.read, requests, Together([each.interrupt for each in requests]))
    return [each.value for each in decoded]


def test_any_mix_of_sessions_and_rollbacks_reads_as_transformers_alone(model: TransformersModel) -> None:
    """Sessions of one to three rows that grow, branch and roll back by different lengths, in batches of any make-up."""
    rng = random.Random(3)
    groups = [opened(model, rows, f"mira {'so ' * rows}?") for rows in (1, 3, 2)]
    answers: list[list[int]] = [[], [], []]
    for _ in range(12):
        chosen = rng.sample(range(3), rng.randint(1, 3))
        for at in chosen:
            answers[at] = answers[at][: rng.randint(0, len(answers[at]))]
            answers[at] += [rng.randint(2, 200) for _ in range(rng.choice([0, 1, 1, 3]))]
        for at, got in zip(chosen, together([request(groups[at], answers[at]) for at in chosen]), strict=True):
            np.testing.assert_allclose(got, alone(model, groups[at], answers[at]), atol=2e-5)
    for group in groups:
        group.close()


def test_a_prompt_that_is_read_beside_others_requests_reads_as_alone_and_so_do_they(model: TransformersModel) -> None:
    """Part by part, in the passes in which another session decodes."""
    decoding, answer = opened(model, 2), [9]
    passes = read(model, Prompt(query="duno limba?"), PASSAGES[1:4], task="answer", room=40)
    segment, parts, prompted = next(passes), 0, None
    while prompted is None:
        (decoded,), behind = decode(model.read, [request(decoding, answer)], Interrupt(), segment)
        np.testing.assert_allclose(decoded.value, alone(model, decoding, answer), atol=2e-5)
        assert (decoded.rows, len(behind)) == (2, len(segment.rows))
        answer.append(5 + parts)
        parts += 1
        try:
            segment = passes.send(behind)
        except StopIteration as end:
            prompted = end.value
    assert parts > 3
    (got,) = together([request(prompted, [7, 9])])
    np.testing.assert_allclose(got, alone(model, prompted, [7, 9]), atol=2e-5)
    (first,) = together([request(prompted, [])])
    np.testing.assert_allclose(first, alone(model, prompted, []), atol=2e-5)
    decoding.close()
    prompted.close()


def test_rows_that_are_no_neighbours_read_the_same(model: TransformersModel) -> None:
    """A session that got the rows between others' loses nothing by it, and it is not refused while rows are free."""
    held = [opened(model, 1) for _ in range(12)]
    for group in held[1::3]:
        group.close()
    scattered = opened(model, 3)
    (got,) = together([request(scattered, [5, 9])])
    np.testing.assert_allclose(got, alone(model, scattered, [5, 9]), atol=2e-5)
    for group in (*held[0::3], *held[2::3], scattered):
        group.close()


def test_a_decode_step_copies_none_of_the_slots_it_reads(model: TransformersModel) -> None:
    """No operation, nor what lies beneath it, allocates half as much as the keys that one layer reads."""
    if model.device.type == "cuda":
        pytest.skip("what is copied on a GPU is not in this profile")
    group = read_at_once(model, "mira " * 80, PASSAGES * 2, task="answer", room=4)
    weights = [1 / 12] * 12
    distribution(group, [5], weights)
    heads = 2 if model._weights.config.model_type == "qwen2" else 4
    keys_bytes = 12 * group.length * heads * 8 * 4
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        distribution(group, [5, 6], weights)
    allocated = [event.self_cpu_memory_usage for event in profiled.events() or []]
    group.close()
    assert 0 < max(allocated) < keys_bytes / 2


def test_a_batch_is_interrupted_when_nobody_wants_it_any_more(model: TransformersModel) -> None:
    """One stale session stops nothing; all stale ones do, and afterwards each reads on as if nothing had been."""
    groups = [opened(model, 2), opened(model, 1)]
    requests = [request(group, [4, 8, 15]) for group in groups]
    requests[0].interrupt.set()
    assert len(together(requests)) == 2
    requests = [request(group, [4, 8, 16, 23]) for group in groups]
    for each in requests:
        each.interrupt.set()
    with pytest.raises(Preempted):
        together(requests)
    for group, got in zip(groups, together([request(r, [4, 8, 16]) for r in groups]), strict=True):
        np.testing.assert_allclose(got, alone(model, group, [4, 8, 16]), atol=2e-5)
        group.close()


@pytest.fixture
def passes(model: TransformersModel, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Tokens of each forward pass."""
    seen: list[int] = []
    inner = model.read
    monkeypatch.setattr(
        model,
        "read",
        lambda segments, *a: (seen.append(sum(len(t) for f in segments for t in f.tokens)), inner(segments, *a))[1],
    )
    return iter([seen])


def test_a_prompt_is_read_in_passes_of_bounded_size(model: TransformersModel, passes: Iterator[list[int]]) -> None:
    """None is longer than `prefill_tokens`; together they are the prompt."""
    (seen,) = passes
    group = opened(model, 3)
    assert max(seen) == 7
    assert sum(seen) == sum(map(len, group.prompts))
    group.close()


def test_more_memory_than_allowed_is_refused_at_the_start(tiny_models: dict[str, Path]) -> None:
    """Before any of it is taken, and with what to change."""
    name = str(tiny_models["device"])
    needed = TransformersModel(exact(name=name, slots=4, context=64), "device").slots.bytes
    assert needed == 2 * 4 * 64 * 2 * (2 * 8) * 4  # layers, slots, context, keys and values, heads of width, float32
    TransformersModel(exact(name=name, slots=4, context=64, kv_bytes=needed), "device")
    with pytest.raises(BadConfiguration, match="lower 'slots' or 'context'"):
        TransformersModel(exact(name=name, slots=4, context=64, kv_bytes=needed - 1), "device")
