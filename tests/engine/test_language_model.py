"""The laws of a model, whatever engine is behind it: rows are their tokens, and rolling back forgets."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from fake_model import FakeModel
from llama_here import needs_llama
from numpy.typing import NDArray
from vllm_here import SMALL, needs_vllm

from exact import exact
from hocket_bus.errors import BadRequest, Busy
from hocket_bus.messages import Prompt
from hocket_daemon.engine.backends.llamacpp.gguf_model import GGUFModel
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.preemption import Interrupt, Preempted
from hocket_daemon.engine.runtime.sequences import at_once, measure, read_prompt, rows_of
from hocket_daemon.engine.segments import Segment
from hocket_daemon.engine.settings import BUNDLED
from hocket_lab.forcing import distribution, read_at_once, rows_behind
from waiting import WAIT_S

SLOTS = 6


@pytest.fixture(scope="module")
def vllm() -> Iterator[LanguageModel]:
    """One for all tests, as it takes half a minute to start; on a CPU it has no attention for a tiny model's heads."""
    from hocket_daemon.engine.backends.vllm.vllm_model import VllmModel

    model = VllmModel(exact(name=BUNDLED, slots=SLOTS, context=400, vllm=SMALL), "cloud")
    yield model
    model.close()


@pytest.fixture(
    params=["fake", "transformers", pytest.param("gguf", marks=needs_llama), pytest.param("vllm", marks=needs_vllm)]
)
def model(request: pytest.FixtureRequest, tiny_models: dict[str, Path], gguf_file: Path) -> LanguageModel:
    makers: dict[str, Callable[[], LanguageModel]] = {
        "fake": lambda: FakeModel(slots=SLOTS, context=400),
        "gguf": lambda: GGUFModel(exact(slots=SLOTS, context=400), gguf_file),
        "transformers": lambda: TransformersModel(
            exact(name=str(tiny_models["device"]), slots=SLOTS, context=400), "device"
        ),
        "vllm": lambda: emptied(request.getfixturevalue("vllm")),
    }
    return makers[request.param]()


def emptied(model: LanguageModel) -> LanguageModel:
    """Without the rows that another test has left."""
    model.slots.give_back(range(SLOTS))
    return model


def fresh(model: LanguageModel, tokens: list[int]) -> NDArray[np.float32]:
    """[vocabulary] behind `tokens`, read into an empty row at once."""
    rows = model.slots.take(1)
    (read,) = model.read([Segment(rows, [tokens])])
    model.slots.give_back(rows)
    assert read.dense(model.vocabulary).shape == (1, model.vocabulary)
    return read.dense(model.vocabulary)[0]


def test_rows_that_grow_and_roll_back_read_like_fresh_ones(model: LanguageModel) -> None:
    """In any company, by any lengths: a row's distribution is a function of the tokens that it holds."""
    rng = random.Random(1)
    rows, held = model.slots.take(4), [[2], [3], [4], [5]]
    model.read([Segment(rows, [list(tokens) for tokens in held])])
    for _ in range(12):
        chosen, segments = rng.sample(range(4), rng.randint(1, 4)), []
        for at in chosen:
            held[at] = held[at][: rng.randint(1, len(held[at]))]
            model.slots.roll_back(rows[at], len(held[at]))
            more = [rng.randrange(2, 90) for _ in range(rng.randint(1, 4))]
            held[at] = held[at] + more
            segments.append(Segment([rows[at]], [more]))
        for at, read in zip(chosen, model.read(segments), strict=True):
            assert read.probabilities.dtype == np.float32
            assert model.slots.lengths[rows[at]] == len(held[at])
            np.testing.assert_allclose(read.dense(model.vocabulary)[0], fresh(model, held[at]), atol=1e-5)


def test_a_row_that_would_outgrow_the_context_is_refused_and_its_neighbour_unharmed(model: LanguageModel) -> None:
    """Nothing is written; in a pass with others, too."""
    if isinstance(model, FakeModel):
        pytest.skip("a fake model takes it for a mistake of ours")
    rows, text = model.slots.take(2), [3 + n % 80 for n in range(400)]
    for first in range(0, 392, 196):
        model.read([Segment(rows, [text[first : first + 196]] * 2)])
    for segments in ([Segment(rows[:1], [text[:9]])], [Segment(rows, [[5], text[:9]])]):
        with pytest.raises(BadRequest, match="raise .model. context"):
            model.read(segments)
    assert [model.slots.lengths[row] for row in rows] == [392, 392]
    (behind,) = model.read([Segment(rows, [text[392:]] * 2)])
    np.testing.assert_allclose(*behind.dense(model.vocabulary), atol=1e-6)
    with pytest.raises(BadRequest):
        model.read([Segment(rows[:1], [[5]])])
    model.slots.give_back(rows)


def test_an_interrupted_pass_leaves_rows_that_roll_back(model: LanguageModel) -> None:
    """Whatever it wrote is forgotten with the length."""
    rows, stop = model.slots.take(1), Interrupt()
    model.read([Segment(rows, [[5, 6, 7]])])
    stop.set()
    with pytest.raises(Preempted):
        model.read([Segment(rows, [[8, 9]])], stop)
    model.slots.roll_back(rows[0], 3)
    (read,) = model.read([Segment(rows, [[10]])], Interrupt())
    np.testing.assert_allclose(read.dense(model.vocabulary)[0], fresh(model, [5, 6, 7, 10]), atol=1e-5)


def test_rows_are_taken_and_given_back(model: LanguageModel) -> None:
    """None is given twice; more than are free is Busy, more than there are a bad request."""
    first, second = model.slots.take(4), model.slots.take(2)
    assert len({*first, *second}) == SLOTS
    with pytest.raises(Busy):
        model.slots.take(1)
    with pytest.raises(BadRequest):
        model.slots.take(SLOTS + 1)
    model.read([Segment(first, [[7]] * 4)])
    model.slots.give_back(first)
    assert all(model.slots.lengths[row] == 0 for row in model.slots.take(4))


def test_a_prompt_that_is_a_documents_layout_reads_as_the_question_over_it(model: LanguageModel) -> None:
    """Two ways to open a sequence, one thing behind them."""
    layout = model.layout("answer")
    ids = [*layout.document("kala mira"), *layout.question(Prompt(query="duno?"))]
    plain = at_once(model, read_prompt(model, ids, 20))
    asked = read_at_once(model, "duno?", ["kala mira"], task="answer", room=20)
    for tokens in ([], [7], [7, 9, 11], [7, 8]):
        np.testing.assert_allclose(distribution(plain, tokens, []), distribution(asked, tokens, [1.0]), atol=1e-6)
    plain.close()
    asked.close()
    assert len(model.slots.take(SLOTS)) == SLOTS


@pytest.mark.parametrize("likelihood", [False, True])
def test_the_last_row_has_the_question_alone_where_it_is_wanted(model: LanguageModel, likelihood: bool) -> None:
    """It reads as a question without passages, and the others as without it."""
    question, passages, answer = "mira soretu?", ["kala mira duno", "tano"], [5, 6]

    def behind(texts: list[str], *, alone: bool) -> NDArray[np.floating]:
        group = read_at_once(model, question, texts, task="answer", room=9, likelihood=likelihood, alone=alone)
        assert len(group.likelihoods) == (max(1, len(texts)) if likelihood else 0)
        assert len(group.rows) == rows_of(len(texts), alone=alone)
        first, rows = rows_behind(group, []), rows_behind(group, answer)
        group.close()
        return np.stack([first, rows])

    both = behind(passages, alone=True)
    np.testing.assert_allclose(both[:, :-1], behind(passages, alone=False), atol=1e-5)
    np.testing.assert_allclose(both[:, -1:], behind([], alone=True), atol=1e-5)
    prompt = Prompt(query=question)
    tokens, _ = measure(model, prompt, passages, task="answer", room=8, alone=True)
    assert tokens == sum(measure(model, prompt, texts, task="answer", room=8)[0] for texts in (passages, []))


def test_an_answer_that_is_read_in_parts_reads_as_at_once(model: LanguageModel) -> None:
    """Stopped behind any part, rolled back and begun again, too: what follows is that of all tokens. Nothing is read
    twice: who is interrupted by each new token catches up all the same."""
    rng = random.Random(5)
    ids = [rng.randrange(3, 90) for _ in range(120)]
    groups = [read_at_once(model, "duno?", ["kala", "mira sola"], task="answer", room=130) for _ in range(2)]
    read = 0
    for end in range(60, 120):
        parts = groups[0].catch_up(ids[:end])
        if (part := next(parts, None)) is None:
            break
        assert sum(map(len, part.tokens)) <= model.prefill_tokens
        (behind,) = model.read([part])
        read += sum(map(len, part.tokens))
        with suppress(Preempted, StopIteration):
            parts.send(behind)
            parts.throw(Preempted())
    assert 2 * (end - 1) <= read < 2 * (end - 1) + model.prefill_tokens
    for tokens in (ids[:50], ids, [*ids[:90], 4, 5]):
        at_once(model, groups[0].catch_up(tokens))
        expected = distribution(groups[1], tokens, [0.25, 0.75])
        np.testing.assert_allclose(distribution(groups[0], tokens, [0.25, 0.75]), expected, atol=1e-6)
        assert groups[0].repeated == 0
    for group in groups:
        group.close()


def test_the_text_of_a_prompt_is_the_prompt(model: LanguageModel) -> None:
    """Laid out to be gone on with, a text is its own tokens behind what begins every row."""
    assert model.text(model.prompt("kala mira, duno?", "complete")) == "kala mira, duno?"


def test_the_fake_model_depends_on_its_tokens_and_its_seed_alone() -> None:
    """What unit tests of rooms above rest on."""
    assert np.array_equal(fresh(FakeModel(3), [4, 5]), fresh(FakeModel(3), [4, 5]))
    assert not np.array_equal(fresh(FakeModel(3), [4, 5]), fresh(FakeModel(4), [4, 5]))
    assert not np.array_equal(fresh(FakeModel(3), [4, 5]), fresh(FakeModel(3), [5, 4]))
    assert abs(float(fresh(FakeModel(3), [4]).sum()) - 1) < 1e-6


def test_each_model_computes_with_its_own_number_of_threads(tiny_models: dict[str, Path]) -> None:
    """Torch has one number for the whole process: it is that of the model whose pass began last."""
    before = torch.get_num_threads()
    models = [
        TransformersModel(exact(name=str(tiny_models["device"]), slots=1, threads=threads), "device")
        for threads in (2, 3)
    ]
    try:
        for model, threads in zip(models * 2, (2, 3) * 2, strict=True):
            fresh(model, [5, 6])
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


def test_what_works_with_any_model_needs_no_model_library() -> None:
    """Another engine brings its own: torch and transformers are imported for transformers' models alone."""
    libraries = "{'torch', 'transformers'}"
    source = f"import hocket_daemon.roles.device, hocket_daemon.roles.cloud, sys; print({libraries} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, timeout=WAIT_S)
    assert found.stdout.strip() == "set()"
