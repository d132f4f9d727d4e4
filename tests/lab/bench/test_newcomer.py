"""Laws of what `hocket bench newcomer` counts: each answer once, and no more claimed than was asked in both arms."""

from __future__ import annotations

import json
from collections import Counter
from importlib import resources

import pytest

from hocket_bus.messages import Done, Origin, Span
from hocket_lab.bench.answers import newcomer
from hocket_lab.reporting.report import Report

FACT = {"kind": "fact", "parts": [["12 March", "March 12"], ["Porto"]]}


def done(text: str, *, finish: str = "eos", unsupported: int = 0, sources: int = 1) -> Done:
    return Done(
        request=bytes(16), seq=0, finish=finish, token_ids=[], text=text, ttft_s=0.0, ms_per_token=0.0,  # type: ignore[arg-type]
        mode="aggregation", seed=0, sources=[Origin(side="device", document="a", ordinal=0, share=1.0)] * sources,
        unsupported=[Span(start=0, end=1)] * unsupported,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("question", "answer", "outcome"),
    [
        (FACT, done("On march 12, in Porto.", unsupported=1), "right"),
        (FACT, done("7 days from march 12, in Porto.", unsupported=1), "invented"),
        (FACT | {"never": ["Lisbon"]}, done("On 12 March in Porto, or in Lisbon."), "wrong"),
        (FACT, done("On 12 March."), "wrong"),
        (FACT, done("On 13 March in Lisbon.", unsupported=2), "invented"),
        (FACT, done("I do not know.", finish="unknown"), "do not know"),
        ({"kind": "not read", "parts": []}, done("I do not know.", finish="unknown"), "right"),
        ({"kind": "not in the note", "parts": []}, done("Blue."), "invented"),
        ({"kind": "small talk", "parts": []}, done("Hello!", sources=0), "right"),
        ({"kind": "small talk", "parts": []}, done("The dentist is on Tuesday."), "wrong"),
    ],
)
def test_each_answer_comes_to_one_thing(question: dict[str, object], answer: Done, outcome: str) -> None:
    assert newcomer.outcome(question, answer) == outcome
    assert outcome in newcomer.OUTCOMES


def test_what_was_asked_in_one_arm_alone_is_not_compared() -> None:
    """And an arm that is worse is a miss."""
    report = Report({})
    for arm, right in (("before", 2), ("now", 1)):
        report.extend(
            {"arm": arm, "drawn": "greedy", "outcome": "right" if at < right else "invented"} for at in range(3)
        )
    report.add({"arm": "now", "drawn": "0", "outcome": "right"})
    report.rows = newcomer.summary(report.rows)
    newcomer._claim(report)
    assert [claim["holds"] for claim in report.claims] == [False, False]


def test_there_are_25_questions_of_the_kinds_that_people_ask() -> None:
    """Those that can be answered have what is accepted, and it stands in a note."""
    data = json.loads(
        (resources.files("hocket_lab") / "bench" / "answers" / "newcomer.json").read_text(encoding="utf-8")
    )
    kinds, notes = Counter(question["kind"] for question in data["questions"]), [*data["device"], *data["cloud"]]
    assert (len(data["questions"]), len(notes)) == (25, 20)
    assert kinds["not read"] == kinds["not in the note"] == 2
    for question in data["questions"]:
        for part in question["parts"]:
            assert any(value in note["text"] for value in part for note in notes), question
