"""Laws of the questions that `hocket bench answers` asks, and of how it counts; small corpora stand for the real."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from hocket_bus.errors import BadRequest
from hocket_bus.messages import DEFAULT_WEIGHTS
from hocket_lab.bench.answers import answers
from hocket_lab.bench.answers.answers import CLOUD, CONTRAST, DEVICE, DRCG_TEXT, GOLD, KNOWING, Settings
from hocket_lab.bench.questions.question_sets import DEALT, SETS, questions
from hocket_lab.bench.questions.wording import contains, f1
from hocket_lab.reporting.report import Report

PAIR = f"pair {DEFAULT_WEIGHTS}"
EACH = {"squad device": 6, "squad cloud": 6, "two-sided": 4, "chats": 3, "nq": 5, "clapnq": 4, "mtrag": 2}


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    """Sixteen articles of four paragraphs with two questions each, one of them unanswerable now and then; ten chats.

    And twelve questions of each corpus whose passages are dealt to both sides.
    """
    (tmp_path / "squad").mkdir()
    (tmp_path / "lihua_world").mkdir()
    articles = [
        {
            "paragraphs": [
                {
                    "context": f"The mill of town {town}-{at} was built in {1000 + 10 * town + at}.",
                    "qas": [
                        {"question": f"When was the mill of {town}-{at} built?", "is_impossible": False,
                         "answers": [{"text": str(1000 + 10 * town + at)}]},
                        {"question": "Who burnt it?", "is_impossible": True, "answers": []},
                    ],
                }
                for at in range(4)
            ]
        }
        for town in range(16)
    ]  # fmt: skip
    (tmp_path / "squad/squad2_dev_half.json").write_text(json.dumps({"data": articles}))
    chats = [
        {"id": f"202601{day}_1000", "text": f"Time: 202601{day}_10:00 bread of day {day}"} for day in range(10, 20)
    ]
    (tmp_path / "lihua_world/chats.jsonl").write_text("\n".join(map(json.dumps, chats)))
    with (tmp_path / "lihua_world/query_set.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["Question", "Gold Answer", "Evidence", "Type"])
        rows.writerows(
            [f"Which bread on {day}?", f"day {day}", f"202601{day}_10:00", "Single"] for day in range(10, 20)
        )
        rows.writerow(["Both?", "Yes", "20260110_10:00<and>20260111_10:00", "Multi"])
    _write_dealt(tmp_path)
    return tmp_path


def _write_dealt(folder: Path) -> None:
    """An unanswerable turn of a conversation is none of them."""
    ships = {of: [f"{of} {at}" for at in range(12)] for of in DEALT}
    here = {ship: [{"text": f"Here is {ship}."}] for each in ships.values() for ship in each}
    rows = {
        "nq": [{"question": f"where is {ship}", "answers": [ship], "ctxs": here[ship]} for ship in ships["nq"]],
        "clapnq": [
            {"input": f"what is {ship}", "output": [{"answer": ship}], "passages": here[ship]}
            for ship in ships["clapnq"]
        ],
        "mtrag": [
            {"conversation_id": f"c{at // 2}", "answerability": ["ANSWERABLE"], "contexts": here[ship],
             "input": [{"text": "Hello"}, {"text": f"Which is {ship}?"}], "targets": [{"text": ship}]}
            for at, ship in enumerate(ships["mtrag"])
        ] + [{"conversation_id": "c0", "answerability": ["UNANSWERABLE"], "contexts": []}],
    }  # fmt: skip
    for of, lines in rows.items():
        (folder / DEALT[of]).parent.mkdir()
        (folder / DEALT[of]).write_text("\n".join(map(json.dumps, lines)))


def test_the_passage_that_answers_lies_where_its_set_says(corpora: Path) -> None:
    """On one side alone, and those of a two-sided question on one side each; no unanswerable question is asked."""
    asked = questions(corpora, "reported", EACH, seed=3)
    assert {of: sum(question.of == of for question in asked) for of in SETS} == EACH
    for question in asked:
        golds = [part.gold for part in question.parts]
        here = [gold in question.device for gold in golds]
        there = [gold in question.cloud for gold in golds]
        if question.of not in DEALT:
            assert here == {"squad cloud": [False], "two-sided": [True, False]}.get(question.of, [True])
        assert there == [not each for each in here]
        assert all(contains(part.gold, part.answers) for part in question.parts)
        assert "burnt" not in question.text
    assert len({question.text for question in asked}) == len(asked)


def test_what_tunes_is_not_what_is_reported(corpora: Path) -> None:
    """No passage and no question is in both halves, but for the chats', which are the device's year."""
    halves = [
        [one for one in questions(corpora, half, EACH, seed=0) if one.of != "chats"] for half in ("reported", "tuning")
    ]
    for what in (lambda one: one.device, lambda one: one.cloud, lambda one: [one.text]):
        first, second = ({text for one in half for text in what(one)} for half in halves)
        assert first
        assert first.isdisjoint(second)


def test_without_the_corpora_one_line_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="squad2_dev_half") as caught:
        questions(tmp_path, "reported", EACH, seed=0)
    assert "--data" in caught.value.remedy


def test_an_answer_holds_whole_words() -> None:
    """SQuAD's measure: without case, articles and punctuation, but no part of a word or of a number."""
    assert contains("It was the Mill, of course.", ["mill"])
    assert contains("In 1,140 houses", ["1,140"])
    assert not contains("In 11400 houses", ["1140"])
    assert not contains("windmill", ["mill"])
    assert f1("the old mill", ["mill"]) == pytest.approx(2 / 3)
    assert f1("a bridge", ["mill", "Bridge!"]) == 1
    assert f1("", ["mill"]) == 0


def report_of(right: dict[str, dict[str, list[bool]]]) -> Report:
    """What each who answered to each set."""
    report = Report({})
    for of, whos in right.items():
        for who, each in whos.items():
            report.rows += [
                {"id": at, "set": of, "who": who, "contains": one, "f1": 0.5} for at, one in enumerate(each)
            ]
    return report


def test_the_pair_is_compared_with_the_side_that_knows() -> None:
    """Question by question; a set that was not asked cannot be told."""
    ours, theirs = [True] * 19 + [False], [True] * 20
    report = report_of({"squad device": {PAIR: ours, DEVICE: theirs, CLOUD: [False] * 20, GOLD: theirs}})
    answers.claim(report, DEFAULT_WEIGHTS)
    holds = {str(claim["name"]).partition(":")[0]: claim["holds"] for claim in report.claims}
    assert holds == {"squad device": True, "squad cloud": None, "chats": None, "two-sided": None}
    report = report_of({of: {PAIR: [True, False] * 10, knowing: theirs} for of, knowing in KNOWING.items()})
    report.rows += report_of({"two-sided": {PAIR: theirs, DRCG_TEXT: ours}}).rows
    answers.claim(report, DEFAULT_WEIGHTS)
    assert [claim["holds"] for claim in report.claims] == [False, False, False, True]
    pair = next(row for row in answers.summary(report.rows) if row["who"] == PAIR)
    assert (pair["n"], pair["contains"]) == (20, 0.5)
    assert float(pair["low"] or 0) < 0.5 < float(pair["high"] or 0)


def test_a_contrast_is_compared_with_the_pair_and_with_the_right_passage() -> None:
    """Over SQuAD's questions of both sides together; a set that is worse beyond its interval is a miss."""
    of = {"squad device": {PAIR: [True, False] * 10, CONTRAST: [True] * 20, GOLD: [True] * 20}}
    of["squad cloud"] = of["squad device"]
    of["nq"] = {PAIR: [True] * 20, CONTRAST: [False] * 20}
    report = report_of(of)
    for row in report.rows:  # of three sets, numbered apart
        row["id"] = f"{row['set']} {row['id']}"
    answers.claim_contrast(report, DEFAULT_WEIGHTS)
    found = {str(claim["name"]): (claim["measured"], claim["holds"]) for claim in report.claims}
    assert found["squad device, squad cloud: pair contrast over gold passage"] == ("1.00 [1.00, 1.00]", True)
    assert found[f"squad device, squad cloud, nq: pair contrast over {PAIR}"] == ("1.00 [0.73, 1.35]", False)
    assert found[f"squad cloud: contains of pair contrast beyond {PAIR}"][1] is True
    assert found[f"nq: contains of pair contrast beyond {PAIR}"] == ("-1.000 [-1.000, -1.000]", False)
    assert not any("mtrag" in name for name in found)


@pytest.mark.slow
def test_every_who_is_asked_once_and_a_second_run_asks_nobody(corpora: Path, tmp_path: Path) -> None:
    """With the bundled model; what each side reads is its own."""
    settings = Settings(squad=2, two_sided=1, chats=1, nq=1, clapnq=0, mtrag=0, max_tokens=2, half="tuning")
    path = tmp_path / "answers.json"
    answers.run(corpora, settings, path)
    rows = json.loads(path.read_text())["rows"]
    assert sorted((row["id"], row["who"]) for row in rows) == sorted(
        (at, who) for at in range(5) for who in settings.who
    )
    begun = path.read_text()
    answers.run(corpora, settings, path)
    assert json.loads(path.read_text())["rows"] == json.loads(begun)["rows"]
