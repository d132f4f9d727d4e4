"""The engine's laws: KV slots, rollback by length, rows of different lengths."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from exact import exact
from hocket_bus.errors import BadRequest, Busy
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.runtime.sequences import SequenceGroup
from hocket_lab.forcing import distribution, read_at_once

PASSAGES = ["kala mira duno, soretu limba", "tano", "meku relado sina borita kulo namira ditu sola"]
WEIGHTS = [0.5, 0.2, 0.3]


@pytest.fixture(scope="module")
def model(tiny_models: dict[str, Path]) -> TransformersModel:
    return TransformersModel(exact(name=str(tiny_models["device"]), slots=8), "device")


def opened(model: TransformersModel, rows: int = 3) -> SequenceGroup:
    return read_at_once(model, "mira soretu?", PASSAGES[:rows], task="answer", room=50)


def weights(rows: int = 3) -> list[float]:
    return [w / sum(WEIGHTS[:rows]) for w in WEIGHTS[:rows]]


def fresh(model: TransformersModel, answer: list[int], rows: int = 3) -> np.ndarray:
    group = opened(model, rows)
    probabilities = distribution(group, answer, weights(rows))
    group.close()
    return probabilities


def test_any_sequence_of_drafts_and_rollbacks_reads_like_a_fresh_pass(model: TransformersModel) -> None:
    """After growing, cutting and branching, log-probabilities equal those of a fresh pass over the same prefix."""
    rng = random.Random(5)
    group = opened(model)
    answer: list[int] = []
    for _ in range(60):
        answer = answer[: rng.randint(max(0, len(answer) - 10), len(answer))]
        answer += [rng.randint(2, 200) for _ in range(rng.choice([0, 1, 1, 3]))]
        answer = answer[:50]
        got = distribution(group, answer, weights())
        np.testing.assert_allclose(np.log(got), np.log(fresh(model, answer)), atol=1e-4)
    group.close()


def test_rows_of_other_sessions_change_nothing(model: TransformersModel) -> None:
    """A session's distribution is the same beside busy neighbours."""
    alone = fresh(model, [5, 9, 17], rows=2)
    neighbour = opened(model)
    group = opened(model, rows=2)
    distribution(neighbour, [4, 8, 15, 16, 23], weights())
    got = distribution(group, [5, 9, 17], weights(2))
    distribution(neighbour, [42], weights())
    np.testing.assert_allclose(np.log(got), np.log(alone), atol=1e-4)
    np.testing.assert_allclose(np.log(distribution(group, [5, 9, 17], weights(2))), np.log(alone), atol=1e-4)
    group.close()
    neighbour.close()


def test_rows_are_mixed_by_relevance(model: TransformersModel) -> None:
    """p_s is the weighted sum of the rows' distributions."""
    rows = [read_at_once(model, "mira?", [p], task="answer", room=9) for p in PASSAGES]
    together = read_at_once(model, "mira?", PASSAGES, task="answer", room=9)
    expected = sum(w * distribution(row, [7, 8], [1.0]) for w, row in zip(WEIGHTS, rows, strict=True))
    np.testing.assert_allclose(distribution(together, [7, 8], WEIGHTS), expected, atol=1e-6)
    for group in (*rows, together):
        group.close()


def test_padded_vocabulary_gets_no_mass(model: TransformersModel) -> None:
    """Ids that the tokenizer does not know are never proposed."""
    assert fresh(model, []).shape == (max(model.tokenizer.get_vocab().values()) + 1,)
    assert fresh(model, []).sum() == pytest.approx(1, abs=1e-6)  # float32


def test_full_slots_and_long_questions_are_refused(model: TransformersModel) -> None:
    """Both are errors of the caller's kind, and cost no rows."""
    with pytest.raises(BadRequest, match="shorten"):
        read_at_once(model, "mira " * 2000, PASSAGES, task="answer", room=50)
    with pytest.raises(BadRequest, match="9 rows.*8 slots"):
        model.slots.take(9)
    groups = [opened(model) for _ in range(2)]
    with pytest.raises(Busy):
        opened(model)
    for group in groups:
        group.close()
    for group in [opened(model) for _ in range(2)]:
        group.close()


def test_a_pass_that_fails_gives_its_rows_back(model: TransformersModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong while reading, the rows are free again."""
    with monkeypatch.context() as patch:
        patch.setattr(model, "read", lambda *_: (_ for _ in ()).throw(MemoryError("no more")))
        for _ in range(4):
            with pytest.raises(MemoryError):
                opened(model)
    opened(model).close()
