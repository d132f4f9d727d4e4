"""Laws of `hocket bench engine`, `gpu`, `determinism`, `load` and `soak`, each on a small scale."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import torch
from transformers import Qwen2Config

from hocket_bus.errors import Unavailable
from hocket_client import Client
from hocket_lab.bench.service import soak
from hocket_lab.bench.speed import determinism, engine, gpu, load
from hocket_lab.reporting.report import Report, Row
from hocket_tools.pair.home import NAMES
from waiting import WAIT_S


@pytest.mark.slow
def test_engine_compares_like_with_like_and_says_that_no_gpu_was_present(tmp_path: Path) -> None:
    """A row for every cell with both times; the rows are free again; the GPU's claim is there in any case."""
    settings = engine.Settings(rows=[2, 3], lengths=[24], steps=3)
    engine.run(settings, tmp_path / "e.json")
    content = json.loads((tmp_path / "e.json").read_text())
    cells = [] if torch.cuda.is_available() else [(2, 24), (3, 24)]
    assert [(row["rows"], row["length"]) for row in content["rows"]] == cells
    for row in content["rows"]:
        assert 0.1 < row["ratio"] < 10
        assert row["step_ms"] > 0
    gpu = content["claims"][-1]
    assert (gpu["measured"] == "no GPU was present") == (not torch.cuda.is_available())
    if not torch.cuda.is_available():
        assert gpu["holds"] is None


def test_the_measure_of_a_gpu_runs_on_any_processor() -> None:
    """With a model of its shape, small."""
    small = Qwen2Config(
        vocab_size=2048, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, tie_word_embeddings=True,
    )  # fmt: skip
    assert engine.over_memory(small, 3) > 1


def test_passes_of_a_gpus_model_are_measured_on_any_processor(tmp_path: Path) -> None:
    """With a model of its shape, small; without a GPU the claims say so, and nothing is measured."""
    small = Qwen2Config(
        vocab_size=2048, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, tie_word_embeddings=True,
    )  # fmt: skip
    settings = gpu.Settings(rows=[1, 32], length=8, prompt=40, steps=3)
    rows = gpu.measured(small, settings)
    assert [(row["kind"], row["rows"]) for row in rows] == [("step", 1), ("step", 32), ("mixed", 32), ("prompt", 1)]
    assert all(float(row["ms"] or 0) > float(row["floor_ms"] or 0) > 0 for row in rows)
    if not torch.cuda.is_available():
        assert gpu.run(gpu.Settings(), tmp_path / "g.json")
        content = json.loads((tmp_path / "g.json").read_text())
        assert not content["rows"]
        assert {claim["measured"] for claim in content["claims"]} == {"no GPU was present"}
        assert len(content["claims"]) == 2


@pytest.mark.slow
def test_no_token_depends_on_the_others_in_float32(tmp_path: Path) -> None:
    """And the rate of another precision is a share, of as many draws as there were."""
    settings = determinism.Settings(precisions=["float32", "bfloat16"], sessions=4, tokens=8, temperature=1.0, seed=3)
    determinism.run(settings, tmp_path / "d.json")
    content = json.loads((tmp_path / "d.json").read_text())
    exact, half = content["rows"]
    assert (exact["precision"], exact["draws"], exact["differ_from_float32"]) == ("float32", 32, 0)
    assert 0 <= half["differ_beside_others"] <= 1
    if exact["device"] == "cpu":
        assert exact["differ_beside_others"] == 0
        assert content["claims"][0]["holds"] is True


def test_claims_are_judged_for_every_hold_and_a_differing_answer_is_a_miss() -> None:
    """Five times the drafts at most devices; no answer of the real device may differ."""
    settings = load.Settings(devices=[1, 16], hold_ms=[25.0, 0.0], rtt_ms=30.0, seconds=1.0, tokens=8)
    report = Report({})
    for hold_ms, few, many, differing in ((25.0, 10.0, 60.0, 0), (0.0, 100.0, 450.0, 1)):
        for devices, rate in ((1, few), (16, many)):
            report.rows.append(
                {"hold_ms": hold_ms, "devices": devices, "drafts_per_s": rate, "real_answers": 2,
                 "real_differing": differing, "real_failed": 0, "real_alone": 0, "refused": 0, "breaks": 0}
            )  # fmt: skip
    load.claim(report, settings)
    assert [claim["holds"] for claim in report.claims] == [True, False, False, True, True, True, True]


@pytest.mark.parametrize(("few", "verdict"), [(0.0, False), (12.0, True), (12.1, False)])
def test_a_ratio_to_nothing_does_not_hold(few: float, verdict: bool) -> None:
    """A cloud that serves no single device is not infinitely faster with many."""
    rows: dict[int, Row] = {devices: {"hold_ms": 0.0, "devices": devices} for devices in (1, 16)}
    counts: Row = dict.fromkeys(("real_answers", "real_differing", "real_failed", "real_alone", "refused", "breaks"), 0)
    report = Report({})
    report.rows += [rows[1] | {"drafts_per_s": few} | counts, rows[16] | {"drafts_per_s": 60.0} | counts]
    load.claim(report, load.Settings(devices=[1, 16], hold_ms=[0.0], rtt_ms=30.0, seconds=1.0, tokens=8))
    assert [claim["holds"] for claim in report.claims] == [verdict, None, None, None, True, True]
    load.claim(report, load.Settings(devices=[16], hold_ms=[0.0], rtt_ms=30.0, seconds=1.0, tokens=8))
    assert report.claims[6]["holds"] is None


class Failing:
    """A client whose question number `at` ends in `error`, and those before it in an answer."""

    def __init__(self, error: Exception, at: int) -> None:
        self.error, self.at, self.asked = error, at, 0
        self.reached = threading.Event()

    def ask(self, *_: object, **__: object) -> Failing:
        self.asked += 1
        return self

    def result(self) -> object:
        if self.asked == self.at:
            self.reached.set()
            raise self.error
        return SimpleNamespace(aggregation=SimpleNamespace(solo_steps=[]), token_ids=[1])


def test_what_ends_the_real_device_is_told() -> None:
    """An error of the daemons is counted and the asking goes on; any other is raised when the device is stopped."""
    known, fault = Failing(Unavailable("gone"), 3), Failing(RuntimeError("a fault"), 3)
    devices = [load.RealDevice(cast("Client", client), [[1]]) for client in (known, fault)]
    assert known.reached.wait(WAIT_S)
    devices[0].stop()
    assert (devices[0].failed, devices[0].differing) == (1, 0)
    assert fault.reached.wait(WAIT_S)
    with pytest.raises(RuntimeError, match="a fault"):
        devices[1].stop()


@pytest.mark.parametrize(
    ("grown", "grown_mib", "left_over"),
    [("cloud", 0.0, 0.0), *((name, 17.0, 0.0) for name in NAMES), ("cloud", 0.0, 1.0)],
)
def test_a_soak_misses_when_memory_grows_or_something_is_left_over(
    grown: str, grown_mib: float, left_over: float
) -> None:
    """Growth is from the first quarter of the faults to the last; what is wrong afterwards counts by itself."""
    report = Report({})
    for number in range(8):
        sizes = {f"{name}_mib": 500.0 for name in NAMES}
        sizes[f"{grown}_mib"] += number + grown_mib * (number > 5)
        report.rows.append({"fault": "connections broken", **sizes})
    counts = {"answers": 9, "failed": 0, "differing": 0, "wrong_afterwards": 0, "sessions_left_over": left_over}
    report.rows.append({"fault": "calm", **{f"{name}_mib": 0.0 for name in NAMES}, **counts})
    soak.claim(report)
    memory, left = report.claims[NAMES.index(grown)], report.claims[-1]
    assert (memory["measured"], memory["holds"]) == (6 + grown_mib, not grown_mib)
    assert left["holds"] == (not left_over)
    assert sum(claim["holds"] is False for claim in report.claims) == bool(grown_mib) + bool(left_over)


@pytest.mark.long
def test_a_short_soak_ends_right_and_a_whole_one_is_not_repeated(tmp_path: Path) -> None:
    """A few faults of a running pair, begun anew where an earlier run was interrupted."""
    settings, path = soak.Settings(minutes=0.3, devices=2, rtt_ms=10.0, tokens=24, seed=1), tmp_path / "soak.json"
    Report(asdict(settings), path).add({"fault": "interrupted"})
    assert soak.run(settings, path)
    content = path.read_text()
    assert "interrupted" not in content
    assert path.with_suffix(".png").is_file()
    assert soak.run(settings, path)
    assert json.loads(path.read_text())["rows"] == json.loads(content)["rows"]
