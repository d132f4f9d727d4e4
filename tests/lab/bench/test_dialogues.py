"""Laws of what `hocket bench dialogues` asks, counts and claims."""

from __future__ import annotations

import json
from collections import Counter
from importlib import resources
from typing import Any

import pytest

from hocket_bus.messages import Done
from hocket_lab.bench.answers import dialogues
from hocket_lab.reporting.report import Report, Row

DATA: dict[str, Any] = json.loads(
    (resources.files("hocket_lab") / "bench" / "answers" / "dialogues.json").read_text(encoding="utf-8")
)
NOTES = {note["name"]: note["text"] for side in ("device", "cloud") for note in DATA[side]}
TURN = {"kind": "ellipsis", "parts": [["38"], ["Lunde", "Havnoy"]]}


def test_there_are_40_dialogues_of_5_turns_and_notes_are_told_by_their_name() -> None:
    """Only what stands first stands for itself; of each other kind there is enough to count, in both halves."""
    assert {len(turns) for turns in DATA["dialogues"]} == {5}
    assert len(DATA["dialogues"]) == 40
    assert len(NOTES) == len(DATA["device"]) + len(DATA["cloud"]) >= 60
    assert {turns[0]["kind"] for turns in DATA["dialogues"]} == {"own"}
    for half in ("tuning", "reported"):
        some = DATA["dialogues"][dialogues.HALVES[half]]
        kinds = Counter(turn["kind"] for turns in some for turn in turns[1:])
        assert kinds.keys() == set(dialogues.KINDS)
        assert min(kinds.values()) >= 8


@pytest.mark.parametrize("turns", DATA["dialogues"], ids=lambda turns: turns[0]["question"])
def test_what_is_accepted_stands_in_the_note_that_answers(turns: dialogues.Dialogue) -> None:
    for turn in turns:
        text = " ".join(NOTES[name] for name in turn["notes"]).lower()
        assert turn["parts"]
        assert all(any(value.lower() in text for value in part) for part in turn["parts"]), turn


def test_each_way_searches_what_it_says() -> None:
    before = ["When does the ferry to Havnoy leave?", "Is it on time?"]
    found = {way: texts(before, "how much?") for way, texts in dialogues.WAYS.items()}
    assert found[dialogues.LAST] == ["how much?"]
    assert found[dialogues.JOINED] == ["When does the ferry to Havnoy leave? Is it on time? how much?"]
    alone, together, joined = found[dialogues.PRODUCT]
    assert alone == "how much?"
    assert together.startswith("how much? how much? ")
    assert [joined] == found[dialogues.JOINED]


@pytest.mark.parametrize(
    ("text", "finish", "outcome"),
    [
        ("To Lunde it is 38 euros.", "eos", "right"),
        ("It is 38 euros.", "eos", "wrong"),
        ("To Lunde it is 380 euros.", "eos", "wrong"),
        ("I do not know about 38 and Lunde.", "unknown", "do not know"),
    ],
)
def test_each_answer_comes_to_one_thing(text: str, finish: str, outcome: str) -> None:
    done = Done(
        request=bytes(16), seq=0, finish=finish, token_ids=[], text=text, ttft_s=0.0, ms_per_token=0.0,  # type: ignore[arg-type]
        mode="aggregation", seed=0, sources=[],
    )  # fmt: skip
    assert dialogues.outcome(TURN, done) == outcome


def searched(**places: int) -> list[Row]:
    """A turn of one kind that was searched in each way."""
    names = {"last": dialogues.LAST, "joined": dialogues.JOINED, "product": dialogues.PRODUCT}
    return [{"kind": "back", "way": names[name], "place": place} for name, place in places.items()]


def claimed(rows: list[Row]) -> list[object]:
    report = Report({})
    report.rows = rows
    dialogues.claim(report)
    return [claim["holds"] for claim in report.claims]


def test_a_way_that_finds_more_is_a_miss_and_what_was_not_asked_is_not_claimed() -> None:
    """Of the kinds that there were, and in all."""
    assert claimed(searched(last=2, joined=1, product=1)) == [True, True]
    assert claimed(searched(last=1, joined=2, product=0)) == [False, False]
    assert claimed(searched(last=2, joined=1, product=2)) == [False, False]


@pytest.mark.parametrize(("conversation", "alone", "holds"), [("right", "wrong", True), ("wrong", "wrong", False)])
def test_a_conversation_that_is_no_better_than_single_questions_is_a_miss(
    conversation: str, alone: str, holds: bool
) -> None:
    rows: list[Row] = [
        {"kind": "back", "way": dialogues.CONVERSATION, "outcome": conversation},
        {"kind": "back", "way": dialogues.ALONE, "outcome": alone},
    ]
    assert claimed(rows) == [holds]


def test_places_are_counted_up_to_the_first_few() -> None:
    """A note that is not found is among none."""
    rows: list[Row] = [{"kind": "back", "way": dialogues.PRODUCT, "place": place} for place in (1, 2, 4, 0)]
    first, _ = dialogues.summary(rows)
    assert (first["turns"], first["first"], first["among_2"], first["among_4"]) == (4, 0.25, 0.5, 0.75)
