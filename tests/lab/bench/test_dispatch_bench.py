"""Laws of `hocket bench dispatch`: what it plays, its oracle, its control, and what it claims of a part of the data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hocket_daemon.dispatch.policies.device_ttft import DeviceTtft
from hocket_daemon.dispatch.policies.policy import StartDelays, Threshold
from hocket_lab.bench.dispatch import budget, policies
from hocket_lab.bench.dispatch.command import Settings, run
from hocket_lab.bench.dispatch.inputs import Requests, Trace, drawn
from hocket_lab.bench.dispatch.online import DRIFTS, Daemons, Static, drifted, play, quantiles
from hocket_lab.reporting.report import Report

DATA = Path(__file__).resolve().parents[3] / "../shared/data"
DEVICE_TTFT = DeviceTtft(0.02, 0.0)
LENGTHS = np.random.default_rng(1).integers(3, 60, 500)
SERVER = Trace("server", np.random.default_rng(2).lognormal(-0.5, 0.8, 150), 0.02)


class Fixed:
    """A policy of one pair of waits."""

    def __init__(self, *waits: float) -> None:
        self.wanted = StartDelays(*waits)

    def waits(self, length: float, chance: float = 0.5, /) -> StartDelays:
        return self.wanted


@pytest.mark.parametrize(
    ("waits", "ttft_s", "of_device", "of_server"),
    [
        ((0.0, 0.0), [0.2, 0.1], [True, True], [True, True]),
        ((0.15, 0.0), [0.35, 0.1], [True, False], [True, True]),
        ((0.0, np.inf), [0.2, 0.2], [True, True], [False, False]),
        ((np.inf, 0.0), [0.5, 0.1], [False, False], [True, True]),
    ],
)
def test_a_side_starts_unless_the_other_one_was_first(
    waits: tuple[float, float], ttft_s: list[float], of_device: list[bool], of_server: list[bool]
) -> None:
    """Two requests of ten tokens, 0.2 s of the device; the server takes 0.5 and 0.1 s."""
    requests = Requests(np.array([0.5, 0.1]), np.array([10, 10]))
    for constraint, spent in (("device", of_device), ("server", of_server)):
        found = play(Static(Fixed(*waits)), requests, constraint, DEVICE_TTFT)  # type: ignore[arg-type]
        assert found.ttft_s.tolist() == pytest.approx(ttft_s)
        assert found.is_spent.tolist() == spent
        assert found.spend() == sum(spent) / 2


def test_the_worst_excess_is_of_any_request() -> None:
    """Ahead at first, back at the end."""
    played = play(
        Static(Threshold(np.array([1, 9]), 0.9)), Requests(np.ones(2), np.array([9, 1])), "server", DEVICE_TTFT
    )
    assert played.worst_excess(0.9) == pytest.approx(0.9)
    assert played.spend() == 0.9


@pytest.mark.parametrize("name", DRIFTS)
def test_a_drift_leaves_the_first_half_as_it_was(name: str) -> None:
    """And changes the second, but for `none`."""
    requests = drawn(SERVER, LENGTHS, 200, "drift")
    changed = drifted(requests, DRIFTS[name])
    assert np.array_equal(changed.ttft_s[:100], requests.ttft_s[:100])
    assert np.array_equal(changed.lengths[:100], requests.lengths[:100])
    same = np.array_equal(changed.ttft_s, requests.ttft_s) and np.array_equal(changed.lengths, requests.lengths)
    assert same == (name == "none")


@pytest.mark.parametrize("share", [0.1, 0.4, 0.8])
def test_no_policy_is_faster_than_the_oracle_at_its_spend(share: float) -> None:
    """It knows what the others guess."""
    requests, before = drawn(SERVER, LENGTHS, 400, "requests"), drawn(SERVER, LENGTHS, 400, "before")
    case = policies.Case(requests, before, DEVICE_TTFT, np.random.default_rng(3).random(400))
    for policy, found in policies.outcomes(case, share).items():
        oracle = "oracle-d" if policies.CONSTRAINT[policy] == "device" else "oracle-s"
        best = policies.outcomes(case, min(1.0, found.spend + 1e-9))[oracle]
        assert best.ttft_s.mean() <= found.ttft_s.mean() + 1e-9


@pytest.mark.parametrize("constraint", ["device", "server"])
@pytest.mark.parametrize("drift", DRIFTS)
def test_the_daemon_s_dispatcher_keeps_its_budget_whatever_drifts(constraint: str, drift: str) -> None:
    """At every request, and it spends what it may."""
    burst = round(20 * float(LENGTHS.mean()))
    requests = drifted(drawn(SERVER, LENGTHS, 600, "played"), DRIFTS[drift])
    way = Daemons(constraint, DEVICE_TTFT, 0.3, quantiles(drawn(SERVER, LENGTHS, 300, "before")), burst_tokens=burst)  # type: ignore[arg-type]
    found = play(way, requests, constraint, DEVICE_TTFT)  # type: ignore[arg-type]
    assert found.worst_excess(0.3) <= burst
    assert found.spend() >= 0.9 * 0.3


def test_claims_about_all_servers_cannot_be_told_of_some() -> None:
    """A miss of one trace is no miss of the mean."""
    report = Report({})
    policies.measure(
        report,
        [SERVER],
        {"alpaca": LENGTHS},
        {"pixel-560m": DEVICE_TTFT},
        (0.5,),
        requests=100,
        runs=1,
        done=lambda: None,
    )
    assert policies.claim(report)
    assert report.claims
    assert {claim["holds"] for claim in report.claims} == {None}


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="the open corpora are not here")
def test_every_part_writes_its_rows_once(tmp_path: Path) -> None:
    """A small run over one server; the second one finds all of it done."""
    settings = Settings(
        traces=("replicate_13b",), devices=("pixel-560m",), budgets=(0.2, 0.5), requests=60, runs=1, online_runs=1,
        answers=10, repeats=1,
    )  # fmt: skip
    path = tmp_path / "dispatch.json"
    run(DATA, settings, path)
    first = json.loads(path.read_text())
    parts = {row["part"] for row in first["rows"]}
    assert parts == {"policies", "budget", budget.CONTROL, "cost", "times"}
    own = {"trace", "device", "lengths", "constraint", "policy", "budget", "ttft_mean_s", "ttft_p99_s", "spend"}
    assert all(own <= row.keys() for row in first["rows"] if row["part"] in ("policies", "budget"))
    run(DATA, settings, path)
    assert json.loads(path.read_text())["rows"] == first["rows"]
    assert path.with_suffix(".png").is_file()
