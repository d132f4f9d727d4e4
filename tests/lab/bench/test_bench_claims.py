"""Laws of what `hocket bench invented` and `real` claim: what was not asked neither holds nor misses."""

from __future__ import annotations

import pytest

from hocket_lab.bench.answers import invented, real
from hocket_lab.bench.graph import gate
from hocket_lab.bench.live import typing
from hocket_lab.reporting.report import Report, Row

KINDS = ("device", "cloud", "two-part")


def answered(kinds: tuple[str, ...]) -> Report:
    """A summary in which the pair is right always, and a side alone about its own documents."""
    report = Report({})
    for kind in kinds:
        for asker in invented.ASKERS:
            right = 1.0 if asker == "pair" or invented.KNOWING.get(kind) == asker else 0.0
            report.rows.append({"kind": kind, "asker": asker, "right": right})
    return report


@pytest.mark.parametrize("kinds", [KINDS, KINDS[:1], KINDS[1:], ()])
def test_what_was_not_asked_cannot_be_told(kinds: tuple[str, ...]) -> None:
    """With --limit some kinds of questions are left out; no share of none is small or large."""
    report = answered(kinds)
    invented._claim(report)
    told = {kind: [claim["holds"] for claim in report.claims if str(claim["name"]).startswith(kind)] for kind in KINDS}
    for kind, number in zip(KINDS, (2, 2, 3), strict=True):
        assert told[kind] == [True if kind in kinds else None] * number


def test_a_side_that_answers_two_part_questions_is_a_miss() -> None:
    """They were made so that one side cannot."""
    report = answered(KINDS)
    report.rows[-1]["right"] = 0.06
    invented._claim(report)
    assert [claim["holds"] for claim in report.claims] == [True] * 6 + [False]


@pytest.mark.parametrize(
    ("finishes", "holds"),
    [(["eos"] * 3, True), (["eos", "length"], False), (["eos", "stop", "cancelled"], False), ([], False)],
)
def test_as_many_streams_finish_as_were_asked_for(finishes: list[str], holds: bool) -> None:
    """Three were wanted; a corpus that has fewer questions is no success."""
    report = Report({})
    report.add({"question": "evidence found", "evidence_found": 0.5})
    report.extend({"question": "Who?", "finish": finish} for finish in finishes)
    real.claim(report, 3)
    assert [claim["holds"] for claim in report.claims] == [holds]


@pytest.mark.parametrize(("answered", "holds"), [(200, True), (197, False), (0, False)])
def test_keys_that_nobody_answered_are_a_miss(answered: int, holds: bool) -> None:
    """The times of the answered ones say nothing of the others."""
    report = Report({})
    report.add({"condition": "near", "keystrokes": 200, "answered": answered, "stale_shown": 0})
    typing.claim(report, "bundled")
    assert [claim["holds"] for claim in report.claims] == [holds, True]


@pytest.mark.parametrize(("splits", "above", "holds"), [(200, 20, True), (200, 21, False), (8, 1, False)])
def test_a_tenth_of_the_splits_may_be_above_the_risk(splits: int, above: int, holds: bool) -> None:
    """Of as many as were made: with eight, none."""
    report = Report({})
    row: Row = {"risk": 0.2, "with_near": False, "splits": splits, "above": above, "kept_home": 0.9, "kept_far": 0.05}
    report.summary = [row]
    gate.claim(report)
    assert [claim["holds"] for claim in report.claims] == [holds, True, True]
