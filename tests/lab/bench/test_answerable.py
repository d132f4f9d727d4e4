"""Laws of the rules of `hocket bench answerable`, and of the questions that it brings itself."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hocket_lab.bench.answers.answerable import FEATURES, LOST, RULES, TODAY, claim, own, summary
from hocket_lab.bench.answers.rule import Rule, Table, area, bound, fitted, reliability
from hocket_lab.bench.answers.unknown import ANSWERABLE, UNANSWERABLE
from hocket_lab.reporting.report import Report, Row

DATA: dict[str, Any] = json.loads(
    (resources.files("hocket_lab") / "bench" / "answers" / "answerable.json").read_text(encoding="utf-8")
)
CASES = 200


def drawn(seed: int, slopes: tuple[float, ...]) -> tuple[Table, NDArray[np.bool_]]:
    """Features, and whether a case holds, drawn by the logistic of these slopes."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(CASES, len(slopes)))
    return features, rng.random(CASES) < 1 / (1 + np.exp(-features @ np.array(slopes)))


@pytest.mark.parametrize("slopes", [(2.0, 1.0), (2.0, -1.0), (-1.0, -2.0), (0.0, 3.0)])
@pytest.mark.parametrize("seed", range(3))
def test_more_of_a_feature_never_lowers_a_rule(seed: int, slopes: tuple[float, ...]) -> None:
    """Also where the cases say otherwise; what they say of no feature is left at nothing."""
    features, holds = drawn(seed, slopes)
    rule = fitted(features, holds)
    for column in range(len(slopes)):
        more = features.copy()
        more[:, column] += 0.5
        assert (rule.of(more) >= rule.of(features)).all()
    assert all(found == 0.0 for found, true in zip(rule.coefficients, slopes, strict=True) if true < 0)
    assert all(found > 0.0 for found, true in zip(rule.coefficients, slopes, strict=True) if true > 0)


def test_a_rule_does_not_depend_on_the_scale_of_a_feature_nor_on_the_order_of_cases() -> None:
    features, holds = drawn(1, (1.0, 2.0))
    scaled, order = features * np.array([1000.0, 0.01]), np.random.default_rng(2).permutation(CASES)
    expected = fitted(features, holds).of(features)
    assert fitted(scaled, holds).of(scaled) == pytest.approx(expected)
    assert fitted(features[order], holds[order]).of(features) == pytest.approx(expected)


def test_a_rule_is_deterministic_and_its_probabilities_lie_between_0_and_1() -> None:
    features, holds = drawn(3, (1.0, 1.0))
    assert fitted(features, holds) == fitted(features, holds)
    remote = Rule(0.0, (1.0,)).of(np.array([[-1e6], [0.0], [1e6]]))
    assert remote == pytest.approx([0.0, 0.5, 1.0])


def test_how_often_a_case_holds_does_not_move_a_rule() -> None:
    """A set that has ten answerable questions to one unanswerable says no more of a question than another."""
    features, holds = drawn(4, (2.0,))
    kept = np.flatnonzero(holds)
    twice = np.concatenate([np.arange(CASES), kept])
    at = np.zeros((1, 1))
    assert fitted(features[twice], holds[twice]).of(at)[0] == pytest.approx(fitted(features, holds).of(at)[0], abs=0.02)


@pytest.mark.parametrize("lost", [0.0, 0.03, 0.5])
def test_at_most_the_share_that_may_be_lost_is_below_the_bound_and_a_larger_bound_loses_more(lost: float) -> None:
    scores, holds = np.random.default_rng(5).random(100), np.arange(100) % 2 == 0
    found = bound(scores, holds, lost)
    mine = scores[holds]
    assert (mine < found).mean() <= lost
    assert (mine <= found).mean() > lost


def test_the_area_is_the_probability_of_the_right_order() -> None:
    holds = np.array([True, True, False, False])
    assert area(np.array([3.0, 4.0, 1.0, 2.0]), holds) == 1.0
    assert area(np.array([1.0, 2.0, 3.0, 4.0]), holds) == 0.0
    assert area(np.array([1.0, 1.0, 1.0, 1.0]), holds) == 0.5


def test_bins_hold_each_case_once() -> None:
    probabilities = np.array([0.0, 0.05, 0.1, 0.55, 1.0])
    found = reliability(probabilities, np.array([False, True, True, False, True]), 10)
    assert [(one.low, one.cases, one.held) for one in found] == [
        (0.0, 2, 0.5),
        (0.1, 1, 1.0),
        (0.5, 1, 0.0),
        (0.9, 1, 1.0),
    ]


def rows(gain: float) -> list[Row]:
    """As many of each kind in each half, which `gain` tells apart by so much, and nothing else does."""
    none: Row = dict.fromkeys(FEATURES, 0.0)
    return [
        {
            **none,
            "id": number,
            "set": "squad",
            "kind": kind,
            "half": half,
            "found": True,
            TODAY: False,
            "gain": number / 40 + (gain if kind == ANSWERABLE else 0.0),
        }
        for half in ("tuning", "reported")
        for kind in (ANSWERABLE, UNANSWERABLE)
        for number in range(40)
    ]


@pytest.mark.parametrize(("gain", "holds"), [(2.0, [True, True]), (0.0, [True, False])])
def test_a_rule_is_claimed_where_it_tells_kinds_apart_and_a_miss_where_it_does_not(
    gain: float, holds: list[bool]
) -> None:
    report = Report({})
    report.rows = rows(gain)
    report.summary = summary(report.rows, "tuning")
    assert [row["rule"] for row in report.summary] == [TODAY, *FEATURES, *RULES]
    claim(report)
    assert [each["holds"] for each in report.claims] == holds


def test_what_was_fitted_is_not_reported() -> None:
    """Other cases on the chosen half move no share of today's rule, which is not fitted; only the others are told."""
    other = [row | {TODAY: row["half"] == "tuning"} for row in rows(1.0)]
    (today, *_) = summary(other, "tuning")
    assert (today[ANSWERABLE], today[UNANSWERABLE]) == (0.0, 0.0)
    assert LOST < 0.05


def test_a_text_that_was_not_found_cannot_be_refused_wrongly() -> None:
    lost = [
        row | ({"found": False} if row["kind"] == ANSWERABLE and int(row["id"] or 0) % 2 else {}) for row in rows(1.0)
    ]
    lost = [row | {TODAY: not row["found"]} for row in lost]
    (today, *_) = summary(lost, "tuning")
    assert today[ANSWERABLE] == 0.0


def test_the_questions_are_about_the_documents_that_they_name() -> None:
    names = {document["name"] for document in DATA["documents"]}
    assert {question["document"] for question in DATA["questions"]} == names
    assert len({question["text"] for question in DATA["questions"]}) == len(DATA["questions"]) >= 60


def test_half_of_them_is_answered_in_either_half() -> None:
    for half in ("tuning", "reported"):
        answered = [each.kind == ANSWERABLE for each in own() if each.half == half]
        assert 0.4 <= sum(answered) / len(answered) <= 0.6
