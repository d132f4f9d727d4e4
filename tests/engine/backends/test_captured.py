"""The law of captured passes: whatever is fed together, each row reads as by itself, and the others keep theirs.

A stand-in for the graph runs the same fixed shapes anew; with a GPU the graph itself is held to the same law.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from structlog.testing import capture_logs
from torch.fx.experimental.proxy_tensor import make_fx

from alone import alone
from exact import exact
from hocket_daemon.engine.backends.transformers.graphs import Step, cuda_graphs
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.segments import Segment
from hocket_lab.forcing import Forced, read_at_once

PASSAGES = ["kala mira duno, soretu limba", "tano", "meku relado sina borita kulo namira ditu sola " * 6]
SLOTS = 12
PART = 128


class Anew:
    """Counts what would be graphs, and how often each is replayed."""

    def __init__(self) -> None:
        self.replayed: list[int] = []

    def __call__(self, step: Step) -> Step:
        step()
        number = len(self.replayed)
        self.replayed.append(0)

        def replay() -> torch.Tensor:
            self.replayed[number] += 1
            return step()

        return replay


def loaded(tiny_models: dict[str, Path], how: Callable[[Step], Step]) -> TransformersModel:
    name = str(tiny_models["device"])
    model = TransformersModel(exact(name=name, slots=SLOTS, context=400, prefill_tokens=PART), "device")
    model.capture(how)
    return model


def grow_and_roll_back(model: TransformersModel, atol: float) -> None:
    """Sessions of one to five rows, of which some decode and all others lie still, one or two tokens at a time."""
    rng = random.Random(5)
    groups = [
        read_at_once(model, "mira?", (PASSAGES * 2)[:rows], task="answer", room=60) for rows in (1, 3, 2, 5)
    ]  # the last beyond the first eight rows
    answers: list[list[int]] = [[rng.randint(2, 200)] for _ in groups]
    for _ in range(40):
        chosen = rng.sample(range(4), rng.randint(1, 4))
        for at in chosen:
            answers[at] = answers[at][: rng.randint(max(1, len(answers[at]) - 2), len(answers[at]))]
            answers[at] += [rng.randint(2, 200) for _ in range(rng.choice([1, 1, 1, 2]))]
        rows = model.read([groups[at].roll_back(answers[at]) for at in chosen])
        for at, got in zip(chosen, rows, strict=True):
            groups[at].take(answers[at], got)
            np.testing.assert_allclose(got.dense(model.vocabulary), alone(model, groups[at], answers[at]), atol=atol)
    for group in groups:
        group.close()


@pytest.mark.slow
def test_a_captured_step_reads_as_transformers_alone(tiny_models: dict[str, Path]) -> None:
    """And graphs of more than one number of rows and keys are among those that are replayed."""
    how = Anew()
    model = loaded(tiny_models, how)
    assert len(how.replayed) == 2 * 3 + 4 * 2  # 8 and 12 rows, 128, 256 and 400 keys; 4 tables, the longer two
    begun = list(how.replayed)
    grow_and_roll_back(model, 2e-5)
    replayed = [now - before for now, before in zip(how.replayed, begun, strict=True)]
    assert sum(times > 0 for times in replayed[:6]) >= 3
    assert sum(times > 0 for times in replayed[6:]) >= 3


def read_prompts(model: TransformersModel, atol: float) -> None:
    """More rows and tokens than one table takes, beside rows that decode, and some whose every token is asked for."""
    rng, forced, rows = random.Random(6), Forced(model), model.slots.take(SLOTS)
    held = [[rng.randint(2, 200) for _ in range(rng.randint(1, 30))] for _ in rows]
    model.read([Segment(rows, held)])
    for lengths in ([1, 90, 2, 128, 1, 3, 77, 1, 60, 1, 5, 2], [1] * 11 + [128], [17] * 12):
        more = [[rng.randint(2, 200) for _ in range(number)] for number in lengths]
        asked = [more[0], *([[]] * 5)]
        last, given = model.read([Segment(rows[6:], more[6:]), Segment(rows[:6], more[:6], given=asked)])
        held = [[*before, *ids] for before, ids in zip(held, more, strict=True)]
        behind = np.concatenate([given.dense(model.vocabulary), last.dense(model.vocabulary)])
        expected = [forced.score([*ids, 0], 1)[0] for ids in held]
        np.testing.assert_allclose(behind, expected, atol=atol)
        said = forced.score([*held[0], 0], len(more[0]) + 1)
        np.testing.assert_allclose(given.given, said[range(1, len(more[0]) + 1), more[0]], atol=atol)


def test_prompts_of_many_rows_and_lengths_read_as_transformers_alone(tiny_models: dict[str, Path]) -> None:
    read_prompts(loaded(tiny_models, Anew()), 2e-5)


def test_what_no_graph_takes_is_read_all_the_same(tiny_models: dict[str, Path]) -> None:
    how = Anew()
    model = TransformersModel(exact(name=str(tiny_models["device"]), slots=2, context=700), "device")
    model.capture(how)
    begun = list(how.replayed)
    ids = [2 + at % 190 for at in range(600)]
    (read,) = model.read([Segment(model.slots.take(1), [ids])])
    assert how.replayed == begun
    np.testing.assert_allclose(read.probabilities[0], Forced(model).score([*ids, 0], 1)[0], atol=2e-5)


def operations(step: Step) -> set[str]:
    """What a step is made of, without running it."""
    with torch.no_grad():
        graph = make_fx(step, tracing_mode="fake", _allow_non_fake_inputs=True)().graph
    return {str(node.target) for node in graph.nodes}


@pytest.mark.slow
def test_a_captured_step_asks_the_device_for_no_number(tiny_models: dict[str, Path]) -> None:
    """A graph holds launches alone: nothing in it may need a value on the way, as `item`, `if` and indexing by
    truth do."""
    steps: list[Step] = []
    loaded(tiny_models, lambda step: steps.append(step) or step)
    assert len(steps) == 6 + 8
    waits = {"aten._local_scalar_dense.default", "aten.nonzero.default"}
    for step in steps:
        found = operations(step)
        assert "aten.index_copy_.default" in found
        assert not found & waits
    assert operations(lambda: steps[0]() * steps[0]().max().item()) & waits


def test_a_full_row_that_is_not_fed_keeps_every_key_but_its_last(tiny_models: dict[str, Path]) -> None:
    """Where a row's end is the context's, there is no place behind it; no session is that long when it decodes."""
    model = loaded(tiny_models, Anew())
    full, other = model.slots.take(2)
    model.read([Segment([full], [[7] * 400]), Segment([other], [[7, 8]])])
    before = model.slots.copy_out(full, 399)
    model.read([Segment([other], [[9]])])
    states = zip(before.states, model.slots.copy_out(full, 399).states, strict=True)
    assert all(np.array_equal(*pair) for pair in states)
    assert model.slots.lengths[full] == 400


def test_a_model_that_cannot_be_captured_decodes_all_the_same(tiny_models: dict[str, Path]) -> None:
    """One line in the log says so."""

    def fail(_: Step) -> Step:
        raise RuntimeError("operation not permitted when stream is capturing")

    with capture_logs() as logs:
        model = loaded(tiny_models, fail)
    assert [entry["log_level"] for entry in logs] == ["warning"]
    assert "not permitted" in logs[0]["reason"]
    (rows,) = model.read([Segment(model.slots.take(1), [[7]])])
    np.testing.assert_allclose(rows.probabilities[0], Forced(model).score([7, 0], 1)[0], atol=2e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU is present")
def test_a_graph_on_a_gpu_reads_as_transformers_alone(tiny_models: dict[str, Path]) -> None:
    """The real capture, in float32, where sums may be taken in another order; one that failed is no pass."""
    with capture_logs() as logs:
        model = loaded(tiny_models, cuda_graphs())
    assert not logs
    grow_and_roll_back(model, 1e-3)
    read_prompts(model, 1e-3)
