"""The profiler in the running pair: the offline stage's file is taken over, each step is compared, status tells it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from harness import pair

from exact import exact
from hocket_bus.errors import BadRequest
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.profiling.offline import Stage, about, profile, steps_of
from hocket_daemon.profiling.profiles import (
    DecodeProfile,
    Figure,
    NetworkProfile,
    decode_file,
    load,
    network_file,
    save,
)
from waiting import WAIT_S


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where profiles are kept."""
    monkeypatch.setenv("HOCKET_HOME", str(tmp_path))
    return tmp_path


def test_status_tells_predicted_and_measured_times_with_their_source(tiny_models: dict[str, Path], home: Path) -> None:
    """At first a moving average; once the offline stage has written its file, that one."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models) as made:
        client = made.client()
        assert made.device is not None
        made.device.services.model.reads_ahead = False  # a step that reads ahead is no step of one token
        assert "hocket profile --offline --side device" in client.status(WAIT_S).facts["decode time"]
        done = client.ask("kala mira?", max_tokens=12, ignore_eos=True, seed=1, require_cloud=True).result()
        status = client.status(WAIT_S)
        # Not the first, which came with the question, nor the next, which nothing predicted; and where the device was
        # the last to say anything, not the one that ended the answer.
        assert status.metrics["decode_steps"] >= len(done.token_ids) - 3
        assert status.metrics["decode_measured_s"] > 0
        assert 0 < status.metrics["rtt_s"] < 5
        assert "(echo on this connection)" in status.facts["cloud"]

        settings = made.device.settings.model
        model = TransformersModel(settings, "device")
        told = about(model, settings, "device")
        stage = Stage(rows=2, chunk_tokens=model.slots.context - 40, runs=1)
        measured = profile(model, told, stage, 0.98, lambda: None)
        save(decode_file(told, home), measured)
        trip = Figure(name="round trip", source="ping", now=0.02, average=0.021, date="2026-11-21")
        save(network_file("", home), NetworkProfile(host="", figures=[trip]))

        facts = client.status(WAIT_S).facts
        assert f"(offline profile of {measured.date})" in facts["decode time"]
        assert facts["network profile"] == "round trip 20.00 ms, average 21.00 ms (ping, 2026-11-21)"
        assert made.device.services.profiler.knows(2)
        assert load(decode_file(told, home), DecodeProfile) == measured


def test_the_offline_stage_times_every_step_up_to_the_context_and_frees_its_rows(
    tiny_models: dict[str, Path], home: Path
) -> None:
    """As many calls as steps; a chunk as long as the context is refused."""

    settings = exact(name=str(tiny_models["cloud"]), context=64, slots=2)
    model = TransformersModel(settings, "cloud")
    told = about(model, settings, "cloud")
    stage, steps = Stage(rows=2, chunk_tokens=32, runs=2), []
    found = profile(model, told, stage, 0.98, lambda: steps.append(1))

    assert len(steps) == steps_of(model, stage) == 2 * 32
    assert found.fits[2].at(64) > 0
    assert model.slots.take(2) == [0, 1]
    with pytest.raises(BadRequest, match="use shorter chunks"):
        profile(model, told, Stage(chunk_tokens=64), 0.98, lambda: None)


def test_profiles_of_other_models_and_machines_are_other_files(home: Path) -> None:
    """By everything that a decode time depends on."""
    told: dict[str, str | int] = {"model": "x", "side": "device", "threads": 1}

    assert decode_file(told) == decode_file(dict(reversed(told.items())))
    assert decode_file(told) != decode_file(told | {"threads": 2})
