"""Laws of the choice of what completes texts: the model that answers where it is quick enough, and it says why."""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import inf

import pytest

import hocket_models
from exact import exact
from hocket_bus.messages import SUGGESTED
from hocket_daemon.composition.model_choice import PASSES, SMALL, ModelChoice, chosen, suggestion_s
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.preemption import Interrupt
from hocket_daemon.engine.sampling.heads import Heads
from hocket_daemon.engine.segments import Segment
from hocket_daemon.engine.settings import AUTO, BUNDLED

FOLDER = str(hocket_models.path("device"))


class Counted(TransformersModel):
    """A model that counts its passes."""

    passes = 0

    def read(self, segments: Sequence[Segment], interrupt: Interrupt | None = None) -> list[Heads]:
        self.passes += 1
        return super().read(segments, interrupt)


def counted(name: str) -> Counted:
    opened = Counted(exact(name=name, slots=2, context=256), "device")
    opened.passes = 0
    return opened


@pytest.mark.parametrize("model", ["", "smollm2-composition", FOLDER])
def test_what_is_named_is_taken_as_it_is(model: str) -> None:
    answering = counted(FOLDER)
    assert chosen(model, answering) == ModelChoice(model, "")
    assert answering.passes == 0


def test_the_bundled_model_has_no_smaller_one() -> None:
    answering = counted(BUNDLED)
    assert chosen(AUTO, answering) == ModelChoice("", "")
    assert answering.passes == 0


def test_a_quick_model_completes_and_a_slow_one_lets_the_small_one() -> None:
    """All rows are free again either way."""
    answering = counted(FOLDER)
    model, why = chosen(AUTO, answering, quick_s=inf)
    assert model == ""
    assert why.startswith(f"a suggestion of {FOLDER} takes ")
    model, why = chosen(AUTO, answering, quick_s=0.0)
    assert model == SMALL
    assert why.endswith(", more than 0")
    answering.slots.give_back(answering.slots.take(2))


def test_a_model_that_is_known_to_be_slow_is_not_measured() -> None:
    """Two rows take at most twice the time of one, so half a step's is the least that a token takes."""
    answering = counted(FOLDER)
    before = answering.passes
    quick_s = 0.25
    slow_s = 2.02 * quick_s / SUGGESTED
    model, why = chosen(AUTO, answering, slow_s, quick_s)
    assert model == SMALL
    assert "at least 252 ms" in why
    assert answering.passes == before
    chosen(AUTO, answering, 1.98 * quick_s / SUGGESTED, quick_s)
    assert answering.passes > before


def test_other_programs_that_start_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """One pass that nothing held up is enough to know how quick the model is."""
    answering, now_s = counted(FOLDER), 0.0

    def clock() -> float:
        nonlocal now_s
        now_s += 0.01 if answering.passes == PASSES else 1.0
        return now_s

    monkeypatch.setattr(time, "perf_counter", clock)
    assert suggestion_s(answering) == pytest.approx(0.01 * SUGGESTED)
