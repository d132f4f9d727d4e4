"""Laws of what `hocket bench invented` and `real` claim: what was not asked neither holds nor misses."""

from __future__ import annotations

import pytest

from hocket_tools.bench import invented, real
from hocket_tools.bench.report import Report

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
