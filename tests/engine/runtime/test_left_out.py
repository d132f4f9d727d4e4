"""The laws of rows that are left out: what is decoded of the others, and of one that comes back, is as if none was."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from copier import Copier
from fake_model import FIRST, FakeModel
from llama_here import needs_llama
from mainthread import MainThread

from exact import exact
from hocket_bus.messages import Prompt
from hocket_daemon.engine.backends.llamacpp.gguf_model import GGUFModel
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.preemption import Interrupt, Preempted
from hocket_daemon.engine.runtime.compute import Decoded, DecodeRequest, decode
from hocket_daemon.engine.runtime.grounded import Grounded
from hocket_daemon.engine.runtime.sequences import SequenceGroup, at_once, read
from hocket_daemon.engine.sampling.drawing import Rule, sample
from hocket_daemon.engine.sampling.heads import (
    Contrast,
    Heads,
    Made,
    contrast_of,
    contrasted,
    made,
    made_of,
    within,
)
from hocket_daemon.engine.sampling.step_rows import StepRows, decoded, step_rows
from hocket_daemon.serving.search.passage_weights import LEAST, weigh

PASSAGES, ROOM, MASS = ["kala mira duno", "tano", "meku relado sina borita"], 60, 0.98


@pytest.fixture(params=["copier", "transformers", pytest.param("gguf", marks=needs_llama)])
def model(request: pytest.FixtureRequest, tiny_models: dict[str, Path], gguf_file: Path) -> LanguageModel:
    if request.param == "copier":
        return Copier(slots=8, context=400)
    if request.param == "transformers":
        return TransformersModel(exact(name=str(tiny_models["device"]), slots=8, context=400), "device")
    return GGUFModel(exact(slots=8, context=400), gguf_file)


def opened(model: LanguageModel) -> SequenceGroup:
    passes = read(model, Prompt(query="mira soretu?"), PASSAGES, task="answer", room=ROOM, alone=True)
    return at_once(model, passes)


def behind(group: SequenceGroup, tokens: list[int], places: Sequence[int] | None, share: float = 1.0) -> Decoded[Heads]:
    request = DecodeRequest(group, list(tokens), lambda heads: heads, Interrupt(), StepRows(places))
    return decode(group.model.read, [request], request.interrupt, share=lambda _: share)[0][0]


def went_on(rng: random.Random, answer: list[int]) -> list[int]:
    """An answer that grows, and sometimes goes back and branches."""
    kept = answer if rng.random() < 0.7 and len(answer) < ROOM - 4 else answer[: rng.randrange(len(answer) + 1)]
    return [*kept, *(rng.randrange(FIRST, 90) for _ in range(rng.choice([1, 1, 1, 3])))]


def test_a_row_that_comes_back_says_what_one_that_was_never_away_does(model: LanguageModel) -> None:
    """Any rows may be wanted from step to step, and the answer may branch; also when read in parts first."""
    rng, answer, back = random.Random(3), list[int](), 0
    model.reads_ahead = True  # type: ignore[misc]
    some, all_ = opened(model), opened(model)
    away = dict.fromkeys(range(4), 0)
    for _ in range(60):
        answer = went_on(rng, answer)
        places = sorted(rng.sample(range(4), rng.choice([1, 2, 2, 4])))
        if rng.random() < 0.2:
            parts = some.catch_up(answer, places)
            with suppress(Preempted, StopIteration):
                parts.send(model.read([next(parts)])[0])
                if rng.random() < 0.5:
                    parts.throw(Preempted())
        found = behind(some, answer, places, share=rng.choice([0.05, 1.0])).value
        expected = behind(all_, answer, None).value.dense(model.vocabulary)[places]
        np.testing.assert_allclose(found.dense(model.vocabulary), expected, atol=2e-5)
        back += sum(away[place] > 2 for place in places)
        away = {place: 0 if place in places else steps + 1 for place, steps in away.items()}
    assert back > 10
    some.close()
    all_.close()


def test_rows_that_are_left_out_read_nothing_and_the_others_are_counted() -> None:
    """A model reads one token of each wanted row, and what is repeated; a row misses its own alone."""
    model, rng, answer = FakeModel(slots=8, context=400), random.Random(4), list[int]()
    group = opened(model)
    for _ in range(80):
        answer = went_on(rng, answer)
        places = sorted(rng.sample(range(4), rng.choice([1, 2, 3])))
        before, held = model.tokens_read, [list(model.slots.held[row]) for row in group.rows]
        found = behind(group, answer, places, share=0.05)
        assert model.tokens_read - before == (len(places) + found.repeated if found.repeated >= 0 else 0)
        for place in set(range(4)) - set(places):
            now = model.slots.held[group.rows[place]]
            assert now == held[place][: len(now)]
            assert now == [*group.prompts[place], *answer][: len(now)]


@dataclass
class Reading:
    """A group on a compute thread, decoded behind tokens as a session does."""

    main: MainThread
    grounded: Grounded

    def behind(self, tokens: list[int], places: list[int]) -> Heads:
        found: list[Decoded[Heads]] = []
        self.grounded.decode(tokens, lambda heads: heads, lambda made, _: found.append(made), rows=StepRows(places))  # type: ignore[arg-type]
        self.main.until(lambda: bool(found))
        return found[0].value


def test_a_row_that_was_left_out_for_long_catches_up_in_parts() -> None:
    """On a compute thread: what it missed is more than a pass may read, and no pass reads more than that."""
    model, main = Copier(slots=8, context=400), MainThread()
    model.reads_ahead = False
    rng, plain = random.Random(6), opened(model)
    tokens = [rng.randrange(FIRST, 90) for _ in range(3 * model.prefill_tokens)]
    with main.compute(model) as compute:
        reading = Reading(main, Grounded(compute))
        passes = read(model, Prompt(query="mira soretu?"), PASSAGES, task="answer", room=ROOM, alone=True)
        reading.grounded.read(passes, lambda _: None)
        main.until(lambda: reading.grounded.has_read)
        for end in range(1, len(tokens)):
            reading.behind(tokens[:end], [1])
        model.passes.clear()
        found = reading.behind(tokens, [0, 1, 3])
        assert max(sum(map(len, segment.tokens)) for (segment,) in model.passes) <= model.prefill_tokens
        assert sum(len(ids) for (segment,) in model.passes for ids in segment.tokens) == 2 * len(tokens) + 1
        reading.grounded.close()
    np.testing.assert_array_equal(found.probabilities, behind(plain, tokens, None).value.probabilities[[0, 1, 3]])


def rows(rng: np.random.Generator, number: int) -> Heads:
    logits = 3 * rng.normal(size=(number, 60))
    return Heads((np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)).astype(np.float32))


@pytest.mark.parametrize("contrast", [None, Contrast(0.5, (1,)), Contrast(0.0, ())])
@pytest.mark.parametrize("seed", range(8))
def test_a_side_says_the_mixture_of_the_rows_that_are_left(seed: int, contrast: Contrast | None) -> None:
    """Recomputed id by id from all rows; every passage has a part in a token, those that are left out one of 0."""
    rng = np.random.default_rng(seed)
    scores = [1.0, *(float(score) for score in rng.uniform(-1, 1, size=2)), -1.0]
    weights, heads = weigh(scores, 0.2)[0], rows(rng, 4 + (contrast is not None))
    places = decoded(weights, contrast)
    assert len(places) < len(heads)
    found = made_of(heads.of_rows(places), weights, MASS, contrast)
    said = heads.probabilities[:4]
    if contrast is not None:
        said = contrasted(None, said, heads.probabilities[4], contrast)
    exact_weights = np.exp(np.array(scores) / 0.2)
    exact_weights[exact_weights < LEAST * exact_weights.max()] = 0
    expected = (exact_weights / exact_weights.sum()) @ said.astype(np.float64)
    ids = found.distribution.ids
    assert expected[ids].sum() >= MASS - 1e-6
    np.testing.assert_allclose(found.distribution.probabilities, expected[ids] / expected[ids].sum(), atol=1e-3)
    token = int(ids[0])
    part = within(found, token)
    assert part is not None
    np.testing.assert_allclose(part, exact_weights * said[:, token] / (exact_weights @ said[:, token]), atol=1e-5)


@pytest.mark.parametrize("seed", range(8))
def test_where_no_weight_is_too_small_a_side_says_what_it_always_did(seed: int) -> None:
    """With a bound of 0 weights are the plain softmax and every row is decoded: the same integers, bit by bit."""
    rng = np.random.default_rng(seed)
    scores, heads = [float(score) for score in rng.uniform(-1, 1, size=4)], rows(rng, 4)
    weights, log_h = weigh(scores, 0.2, least=0.0)
    logits = np.array(scores) / 0.2
    assert log_h == pytest.approx(np.log(np.exp(logits).sum()))
    np.testing.assert_allclose(weights, np.exp(logits) / np.exp(logits).sum())
    assert decoded(weights, None) == [0, 1, 2, 3]
    whole, ours = made(heads, weights, MASS), made_of(heads, weights, MASS)
    np.testing.assert_array_equal(ours.distribution.counts, whole.distribution.counts)
    np.testing.assert_array_equal(ours.parts, whole.parts)


@pytest.mark.parametrize("seed", range(20))
def test_what_weighs_less_than_the_bound_weighs_nothing(seed: int) -> None:
    """The others keep their proportions and sum to 1; the heaviest stays, and the claim against others is of all."""
    rng = np.random.default_rng(seed)
    scores = [float(score) for score in rng.uniform(-1, 1, size=rng.integers(1, 9))]
    plain, log_h = weigh(scores, 0.1, least=0.0)
    weights, same_log_h = weigh(scores, 0.1)
    assert log_h == same_log_h
    assert [weight > 0 for weight in weights] == [weight >= LEAST * max(plain) for weight in plain]
    assert sum(weights) == pytest.approx(1.0)
    kept = [(now, before) for now, before in zip(weights, plain, strict=True) if now]
    assert all(now / before == pytest.approx(kept[0][0] / kept[0][1]) for now, before in kept)


def test_of_many_equal_passages_none_is_left_out() -> None:
    """Each of 64 weighs less than LEAST of all together."""
    assert weigh([0.5] * 64, 0.1)[0] == pytest.approx([1 / 64] * 64)


def written(model: LanguageModel, weights: list[float], rule: Rule, *, one_by_one: bool) -> tuple[list[Made], int]:
    """A side's distributions, and the number of steps without the question's row."""
    group, said, ids, late = opened(model), list[Made](), list[int](), 0
    while len(ids) < ROOM:
        against = contrast_of(0.5, (), len(weights), len(ids))
        rows = step_rows(weights, against, one_by_one=one_by_one)
        request = DecodeRequest(
            group, list(ids), lambda heads, by=against: made_of(heads, weights, MASS, by), Interrupt(), rows
        )
        said.append(decode(model.read, [request], request.interrupt)[0][0].value)
        late += bool(ids) and model.slots.lengths[group.rows[-1]] < len(group.prompts[-1]) + len(ids)
        ids.append(sample(rule, len(ids), said[-1].distribution))
    group.close()
    return said, late


@pytest.mark.parametrize("rule", [Rule(1, 0.0, 1.0), Rule(2, 0.7, 0.9)])
@pytest.mark.parametrize("weights", [[1.0, 0.0, 0.0], [0.0, 0.4, 0.6]])
def test_the_questions_own_row_is_read_only_where_it_changes_what_is_said(rule: Rule, weights: list[float]) -> None:
    """Waiting for what the passages say, bit by bit, in every step of an answer; and some steps do without it."""
    model = Copier(slots=8, context=400)
    model.reads_ahead = False
    plain, never = written(model, weights, rule, one_by_one=False)
    found, late = written(model, weights, rule, one_by_one=True)
    assert never == 0 < late < ROOM
    for ours, whole in zip(found, plain, strict=True):
        np.testing.assert_array_equal(ours.distribution.ids, whole.distribution.ids)
        np.testing.assert_array_equal(ours.distribution.counts, whole.distribution.counts)
        np.testing.assert_array_equal(ours.parts, whole.parts)
