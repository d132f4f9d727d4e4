"""Laws of what a model is told that it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from exact import exact
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.catalog.checking import MANY, MAX_BY_BATCH, MAX_NATS, TEXT, check, nats_of, refusal, surprises
from hocket_daemon.engine.preemption import Interrupt
from hocket_daemon.engine.sampling.heads import Heads
from hocket_daemon.engine.segments import Segment
from hocket_lab.forcing import Forced


class WrongInBatches(TransformersModel):
    """A kernel that is wrong where several rows are read at once."""

    def read(self, segments: Sequence[Segment], interrupt: Interrupt | None = None) -> list[Heads]:
        found = super().read(segments, interrupt)
        return [Heads(each.probabilities[:, ::-1], given=each.given) if len(each) > 1 else each for each in found]


class Blunt(TransformersModel):
    """Its distributions are half uniform, as of weights that were rounded too far."""

    def read(self, segments: Sequence[Segment], interrupt: Interrupt | None = None) -> list[Heads]:
        return [
            replace(each, given=0.4 * each.given + 0.6 / self.vocabulary) for each in super().read(segments, interrupt)
        ]


def model(kind: type[TransformersModel] = TransformersModel) -> TransformersModel:
    return kind(exact(name="bundled", slots=MANY, context=256), "device")


def test_surprises_are_those_of_teacher_forcing() -> None:
    """Token by token, alone and beside other rows, as in one pass over the text."""
    one = model()
    ids = one.prompt(TEXT, "complete")
    forced = Forced(one).score(ids, len(ids) - 1)
    expected = -np.log(forced[np.arange(len(ids) - 1), ids[1:]])
    for rows in (1, MANY):
        assert surprises(one, ids, rows) == pytest.approx(expected, abs=1e-3)
    assert list(one.slots.lengths) == [0] * MANY or one.slots.take(MANY) == list(range(MANY))


@pytest.fixture(scope="module")
def floats() -> float:
    """Nats a token of the float weights."""
    return nats_of(model())


@pytest.mark.parametrize(
    ("kind", "word"),
    [(TransformersModel, ""), pytest.param(WrongInBatches, "batch", marks=pytest.mark.slow), (Blunt, "nats more")],
)
def test_a_model_that_is_wrong_is_refused_and_a_sound_one_is_not(
    kind: type[TransformersModel], word: str, floats: float
) -> None:
    found = check(model(kind), floats)
    assert (word in found.refused) if word else not found.refused
    assert any(f"{found.nats:.4f}" in line for line in found.lines())


def test_the_bounds_are_in_themselves_allowed_and_no_number_is_not() -> None:
    for dtype, maximum in MAX_BY_BATCH.items():
        assert not refusal(MAX_NATS, maximum, dtype)
        assert "batch" in refusal(0.0, maximum * 1.01, dtype)
        assert refusal(0.0, float("nan"), dtype)
    assert "nats" in refusal(MAX_NATS + 0.01, 0.0, "float32")
    assert refusal(float("nan"), 0.0, "float32")
