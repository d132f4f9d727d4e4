"""Laws of what `hocket bench race` and `hocket bench migration` make of their answers; no daemon runs here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hocket_daemon.dispatch.policies.device_ttft import DeviceTtft
from hocket_daemon.dispatch.settings import Constraint, DispatchSettings
from hocket_lab.bench.live import moved, quality, race, raced, weight
from hocket_lab.bench.live.simulated import Simulated
from hocket_lab.bench.live.timed import longest_gap_s
from hocket_lab.bench.questions.question_sets import Part, Question
from hocket_lab.bench.running.running import Tables, _over
from hocket_lab.reporting.report import Report, Row

LINE, RTT_S = DeviceTtft(0.02, 0.05), 0.1
LENGTHS = np.random.default_rng(5).integers(8, 60, 40).tolist()
CLOUD_S = np.random.default_rng(6).uniform(0.2, 1.0, 40).tolist()


def simulated(constraint: Constraint, budget: float, script: str = "") -> Simulated:
    settings = DispatchSettings(constraint=constraint, budget=budget, burst_tokens=100, migration="off")
    return Simulated(settings, LINE, CLOUD_S, RTT_S, script)


@pytest.mark.parametrize("constraint", ["device", "server"])
def test_with_the_whole_budget_the_faster_side_is_first(constraint: Constraint) -> None:
    """Both start at once, and the cloud's first token is a round trip later than there."""
    pair = simulated(constraint, 1.0)
    firsts = [pair.ask(length, 4) for length in LENGTHS]
    for first, length, cloud_s in zip(firsts, LENGTHS, CLOUD_S, strict=True):
        assert first.ttft_s == pytest.approx(min(LINE.at(length), RTT_S + cloud_s))
        assert first.asked == {"device", "cloud"}
    assert {first.winner for first in firsts} == {"device", "cloud"}


def test_a_script_asks_one_side_and_takes_the_next_of_its_first_tokens() -> None:
    """Alone, each side takes what it takes."""
    pair = simulated("device", 1.0, "cloud")
    assert [pair.ask(length, 4).ttft_s for length in LENGTHS] == pytest.approx([RTT_S + each for each in CLOUD_S])
    pair = simulated("device", 1.0, "device")
    assert [pair.ask(length, 4).ttft_s for length in LENGTHS] == pytest.approx([LINE.at(each) for each in LENGTHS])


@pytest.mark.parametrize("constraint", ["device", "server"])
def test_a_budget_keeps_the_constrained_side_from_starting_always(constraint: Constraint) -> None:
    """At every question it has read at most b of all and the burst; the other side is always there."""
    pair, spent, whole = simulated(constraint, 0.3), 0, 0
    constrained = "device" if constraint == "device" else "cloud"
    for length in LENGTHS:
        first = pair.ask(length, 4)
        whole += length
        spent += length * (constrained in first.asked)
        assert spent <= 0.3 * whole + 100
        assert first.ttft_s <= max(LINE.at(length), RTT_S + 1.0)
    assert 0 < spent < whole


def answer(at: int, script: str, live_s: float, simulated_s: float, **other: object) -> Row:
    row = race.Phase("device", 1.0, 0, script).key | {
        "kind": "answer", "question": at, "live_s": live_s, "simulated_s": simulated_s, "winner": "device",
        "simulated_winner": "device", "loser_steps": 0, "prefilled_device": 10, "decoded_device": 4,
        "prefilled_cloud": 0, "decoded_cloud": 0,
    }  # fmt: skip
    return row | other  # type: ignore[return-value]


def engine(script: str, prefilled: int, decoded: int) -> Row:
    counted: Row = {"prefilled_device": prefilled, "decoded_device": decoded, "prefilled_cloud": 0, "decoded_cloud": 0}
    return race.Phase("device", 1.0, 0, script).key | {"kind": "engine"} | counted


def test_the_claims_of_a_race_are_of_its_rows() -> None:
    """Near enough, by the rule of both limits; beside the faster side; steps of losers; tokens on both books."""
    report = Report({})
    report.extend([answer(0, "device", 0.5, 0.5), answer(1, "device", 0.9, 0.9), engine("device", 20, 8)])
    report.extend([answer(0, "cloud", 0.7, 0.7), answer(1, "cloud", 0.3, 0.3), engine("cloud", 20, 8)])
    report.extend([answer(0, "", 0.129, 0.1), answer(1, "", 1.0, 0.9, loser_steps=2), engine("", 23, 8)])
    report.summary = raced.summary(report.rows)
    raced.claim(report)
    found = [(claim["measured"], claim["holds"]) for claim in report.claims]
    assert report.summary[-1]["best_mean_s"] == pytest.approx(0.4)
    assert found == [(1, False), (pytest.approx(0.5645), False), (2, False), (3, False)]
    assert [raced.is_within(answer(0, "", live_s, 1.0)) for live_s in (0.901, 1.099, 1.101)] == [True, True, False]


def test_the_phases_measure_each_side_alone_once_for_each_round_trip() -> None:
    """The device's does not depend on it."""
    found = race.phases(race.Settings(rtts_ms=[0, 100]))
    assert [phase.script for phase in found] == ["device", "cloud", "cloud", *[""] * 6]
    assert len(set(found)) == len(found)


def test_a_reader_of_an_even_pace_meets_a_gap_only_behind_a_late_token() -> None:
    """Tokens that are there early are handed out one interval apart."""
    assert longest_gap_s([0.0, 0.01, 0.02, 0.03], 4.0) == pytest.approx(0.25)
    assert longest_gap_s([0.0, 0.1, 0.9, 0.91], 4.0) == pytest.approx(0.65)
    assert longest_gap_s([3.0], 4.0) == 0.0


def test_an_answer_as_ids_weighs_its_tokens() -> None:
    """Three bytes each, or as many bits as the vocabulary needs, filled up to bytes answer by answer."""
    row = weight.weights(["äb", "c"], [3, 1], 49_152)
    assert row == {
        "vocabulary": 49_152, "answers": 2, "tokens": 4, "utf8_bytes": 4, "id_bytes": 12, "id_bits": 16,
        "packed_bytes": 8,
    }  # fmt: skip
    assert [weight.weights([], [], size)["id_bits"] for size in (2, 65_536, 65_537)] == [1, 16, 17]


def test_eq_7_holds_fails_or_cannot_be_told() -> None:
    """By the intervals of both differences."""
    never, always = [0.0] * 30, [1.0] * 30
    half = [1.0, 0.0] * 15
    assert quality.bounded(half, never, always)[0] is True
    assert quality.bounded(never, half, always)[0] is False
    assert quality.bounded(always, never, half)[0] is False
    assert quality.bounded(half, half[::-1], half)[0] is None


def test_a_side_reads_what_holds_its_answers_first() -> None:
    """And others of its own up to a number; none twice, and nothing of the other side's."""
    device, cloud = [f"d{at}" for at in range(6)], [f"c{at}" for at in range(6)]
    asked = [
        Question(f"squad {side}", "Who?", (Part(("she",), gold),), device, cloud)
        for side, gold in (("device", "d4"), ("cloud", "c2"), ("device", "d4"), ("device", "d1"))
    ]
    assert quality.read(asked, "device", 4) == ["d4", "d1", "d0", "d2"]
    assert quality.read(asked, "cloud", 0) == ["c2"]


def test_answers_that_move_are_counted_for_each_way() -> None:
    """One that differs misses, and so does a gap above the interval."""
    report = Report({})
    for way in moved.WAYS:
        for at, equal, gap_s in ((1, True, 0.25), (2, way == "stop", 0.3)):
            report.add(
                {"part": "moves", "way": way, "source": "device", "at": at, "moved_at": at, "equal": equal,
                 "late_s": 0.0, "gap_s": gap_s}
            )  # fmt: skip
    moved.claim_moves(report, pace=4.0, tokens=2)
    assert [claim["measured"] for claim in report.claims] == [2, 2, 1, 0.3]
    assert [claim["holds"] for claim in report.claims] == [True, True, False, False]


def test_answers_that_stayed_do_not_count_as_moved() -> None:
    """They equal the one that did not move, since they are it."""
    report = Report({})
    for at in (1, 2):
        row: Row = {"way": "stop", "source": "device", "at": at, "moved_at": None, "equal": True, "differs": False}
        report.extend([row | {"part": "moves", "late_s": 0.0, "gap_s": 0.0}, row | {"part": "models"}])
    moved.claim_moves(report, pace=4.0, tokens=2)
    moved.claim_models(report)
    assert [(claim["measured"], claim["holds"]) for claim in report.claims] == [
        (2, True), (0, False), (2, True), (0, False),
    ]  # fmt: skip


def test_a_side_s_own_tables_hold_over_those_of_both(tmp_path: Path) -> None:
    """Key by key."""
    both: Tables = {"": {"max_sessions": 4.0}, "model": {"name": "bundled", "threads": 1.0}}
    own: Tables = {"model": {"name": str(tmp_path)}, "dispatch": {"budget": 0.5}}
    assert _over(both, own) == {
        "": {"max_sessions": 4.0}, "model": {"name": str(tmp_path), "threads": 1.0}, "dispatch": {"budget": 0.5},
    }  # fmt: skip
