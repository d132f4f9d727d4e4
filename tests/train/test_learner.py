"""Laws of a run of training: what is learned, what is written, and that a killed run loses nothing."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from exact import exact
from hocket_bus.errors import BadConfiguration
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_lab.forcing import Forced
from hocket_tools.models.described import described
from hocket_tools.train import learner
from hocket_tools.train.learner import Learner, Plan, nats
from hocket_tools.train.reading import Lesson
from hocket_tools.train.weights import Pupil

pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # of peft's
PLAN = Plan(steps=9, batch=2, rate=1e-2)


class Killed(Exception):
    pass


def lessons(count: int = 7) -> list[Lesson]:
    rng = random.Random(3)
    return [Lesson(rng.choices(range(3, 200), k=12), rng.choices(range(3, 200), k=5)) for _ in range(count)]


def learned(model: Path, checkpoint: Path, *, lora: bool, killed_at: tuple[int, ...] = ()) -> Pupil:
    """A pupil behind all steps; whenever a step is reached at which it is killed, a new one takes over."""
    for stop in (*killed_at, PLAN.steps + 1):
        pupil = Pupil(str(model), lora=lora, seed=4)
        taught = Learner(pupil.model, PLAN, checkpoint)

        def told(done: int, _: float, stop: int = stop) -> None:
            if done == stop:
                raise Killed

        try:
            taught.run(lessons(), told)
        except Killed:
            continue
    return pupil


@pytest.mark.parametrize("lora", [False, True])
def test_a_run_that_is_killed_and_goes_on_ends_with_equal_weights(
    tiny_models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lora: bool
) -> None:
    monkeypatch.setattr(learner, "CHECKPOINT_EVERY", 2)
    whole = learned(tiny_models["device"], tmp_path / "whole.pt", lora=lora).model.state_dict()
    parted = learned(tiny_models["device"], tmp_path / "parted.pt", lora=lora, killed_at=(3, 6, 7)).model.state_dict()
    begun = Pupil(str(tiny_models["device"]), lora=lora, seed=4).model.state_dict()
    assert whole.keys() == parted.keys() == begun.keys()
    assert all(torch.equal(whole[name], parted[name]) for name in whole)
    changed = {name for name in whole if not torch.equal(whole[name], begun[name])}
    assert changed
    assert not lora or all("lora_" in name for name in changed)


def test_nothing_but_the_label_is_learned(tiny_models: dict[str, Path]) -> None:
    """The loss is the model's own, of the label's tokens alone."""
    model = TransformersModel(exact(name=str(tiny_models["device"]), slots=1, context=64), "device")
    pupil = Pupil(str(tiny_models["device"]), lora=False, seed=0)
    forced = Forced(model)
    for lesson in lessons(3):
        p = forced.score([*lesson.prompt, *lesson.label], len(lesson.label))
        expected = -np.log(p[np.arange(len(lesson.label)), lesson.label]).mean()
        assert nats(pupil.model, lesson).item() == pytest.approx(float(expected), abs=0.02)  # padded ids take a share


def test_lessons_are_learned(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    pupil = Pupil(str(tiny_models["device"]), lora=False, seed=0)
    told: list[float] = []
    Learner(pupil.model, Plan(60, 2, 1e-2), tmp_path / "c.pt").run(lessons(2), lambda _, nats: told.append(nats))
    assert told[-1] < told[0] / 4


def test_the_rate_grows_and_falls() -> None:
    plan = Plan(steps=100, batch=1, rate=1.0)
    rates = [plan.rate_at(step) for step in range(100)]
    assert max(rates) == rates[4] == pytest.approx(0.96)
    assert rates[:5] == sorted(rates[:5])
    assert rates[4:] == sorted(rates[4:], reverse=True)
    assert rates[-1] == pytest.approx(0.01)


@pytest.mark.parametrize("lora", [False, True])
def test_what_is_written_is_a_model_of_its_own_name(tiny_models: dict[str, Path], tmp_path: Path, lora: bool) -> None:
    """A model of the folder scores as the pupil does, but for bfloat16; an adapter leaves its base as it is."""
    pupil = learned(tiny_models["device"], tmp_path / "checkpoint.pt", lora=lora)
    lesson = lessons(1)[0]
    told = nats(pupil.model, lesson).item()
    before = {file.name: file.read_bytes() for file in tiny_models["device"].iterdir()}
    pupil.write(tmp_path / "weights")
    assert {file.name: file.read_bytes() for file in tiny_models["device"].iterdir()} == before
    names = {file.name for file in (tmp_path / "weights").iterdir()}
    assert ("adapter_model.safetensors" in names) == lora == ("model.safetensors" not in names)
    again = Pupil(str(tmp_path / "weights"), lora=False, seed=0)
    begun = Pupil(str(tiny_models["device"]), lora=False, seed=0)
    off = abs(nats(begun.model, lesson).item() - told)
    assert abs(nats(again.model, lesson).item() - told) < off / 5
    assert again.tokenizer.get_vocab() == begun.tokenizer.get_vocab()
    facts = described(str(tmp_path / "weights"))
    assert facts["fingerprint"] == described(str(tiny_models["device"]))["fingerprint"]
    assert facts.get("note", "") == (f"an adapter of {tiny_models['device']}" if lora else "")


@pytest.mark.parametrize("fault", ["rank", "shape", "base", "truncated"])
def test_a_damaged_adapter_is_refused_in_one_line(tiny_models: dict[str, Path], tmp_path: Path, fault: str) -> None:
    learned(tiny_models["device"], tmp_path / "checkpoint.pt", lora=True).write(tmp_path / "weights")
    config, weights = (tmp_path / "weights" / f"adapter_{name}" for name in ("config.json", "model.safetensors"))
    if fault == "rank":
        config.write_text(config.read_text().replace('"r"', '"q"'))
    elif fault == "base":
        config.write_text(config.read_text().replace(str(tiny_models["device"]), str(tmp_path / "weights")))
    elif fault == "shape":
        config.write_text(config.read_text().replace(str(tiny_models["device"]), "bundled"))
    else:
        weights.write_bytes(weights.read_bytes()[:-50])
    with pytest.raises(BadConfiguration) as refused:
        TransformersModel(exact(name=str(tmp_path / "weights"), slots=1, context=64), "device")
    assert "\n" not in str(refused.value)
