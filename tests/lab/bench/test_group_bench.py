"""Laws of `hocket bench group`: parties in one process, where the evidence lies, who is best, what a leader reads."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from exact import exact
from hocket_bus.messages import WEIGHTS, Weights
from hocket_daemon.aggregation.exchange.sampler import MIN_OF_DEVICE, target
from hocket_daemon.aggregation.settings import GroupSettings
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.opening.engines import open_model
from hocket_daemon.engine.sampling.distribution import Distribution
from hocket_daemon.engine.sampling.drawing import Rule, draw
from hocket_lab.bench.group import answers, privacy
from hocket_lab.bench.group.answers import ALONE, BEST, GROUP, HOME, PASSAGES
from hocket_lab.bench.group.privacy import Had, Led, likeliest, raised
from hocket_lab.bench.group.worlds import MTRAG, PARTS, worlds
from hocket_lab.bench.parties.parties import Draft, Parties
from hocket_lab.bench.parties.two_sides import Asked, TwoSides
from hocket_lab.bench.privacy.canaries import canaries
from hocket_lab.reporting.report import Report, Row

TOKENS = 8
ASKED = [
    ("where is the mill", ("the mill is in town", "the river runs north"), ("the bridge is old",)),
    ("who built it", ("one man built it",), ("two men built the mill", "it was built by hand")),
    ("and when", (), ("in the year of the flood",)),
]
RULES = [Rule(seed, temperature, 0.9) for seed, temperature in ((3, 1.0), (4, 0.7), (5, 0.0))]


def scores(query: str, passages: Sequence[str]) -> list[float]:
    """Words in common."""
    own = set(query.split())
    return [len(own & set(text.split())) / (1 + len(own)) for text in passages]


@pytest.fixture(scope="module")
def model(tiny_models: dict[str, Path]) -> LanguageModel:
    """A small one with random weights, which keeps nothing: what is read again is computed in the same way."""
    return open_model(exact(name=str(tiny_models["device"]), slots=64), "device")


def table(draft: Draft) -> dict[int, float]:
    """Probabilities by id."""
    law = draft.distribution
    return dict(zip(law.ids.tolist(), law.probabilities.tolist(), strict=True))


@pytest.mark.parametrize("weights", WEIGHTS)
def test_two_parties_write_what_two_sides_do(model: LanguageModel, weights: Weights) -> None:
    """Token, log h and both distributions, bit for bit; and every token is the one that the law of two sides has."""
    sides = TwoSides(model, scores, TOKENS, weights).answers([Asked("", *each) for each in ASKED], RULES)
    law = Parties([model, model], scores, TOKENS, weights)
    parties = law.answers([(question, texts) for question, *texts in ASKED], RULES)
    assert [len(steps) for steps in parties] == [len(steps) for steps in sides]
    for rule, ours, theirs in zip(RULES, parties, sides, strict=True):
        for at, (step, other) in enumerate(zip(ours, theirs, strict=True)):
            device, cloud = step.drafts
            assert (step.token, (device.log_h, cloud.log_h)) == (other.token, other.log_h)
            assert table(device) == table(Draft(other.device, None))
            assert table(cloud) == table(Draft(other.cloud, None))
            assert step.token == target(rule, at, other.device, other.cloud, other.log_h)


@pytest.mark.parametrize("number", [3, 5])
def test_tokens_of_many_parties_are_those_of_their_mixture(model: LanguageModel, number: int) -> None:
    """Written as a plain sum over shares that are softmax(log h): at most `most_say`, of the asked one a least part."""
    texts = [(f"the mill of device {at} is in town {at}",) for at in range(number)]
    rules = [Rule(seed, 1.0, 1.0) for seed in range(6)]
    law = Parties([model] * number, scores, TOKENS)
    for rule, steps in zip(rules, law.answers([("where is the mill", texts)] * len(rules), rules), strict=True):
        for at, step in enumerate(steps):
            logs = np.array([draft.log_h for draft in step.drafts])
            shares = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
            assert shares[1:].max() < GroupSettings().most_say
            assert shares[0] > MIN_OF_DEVICE
            mixed: dict[int, float] = {}
            for share, draft in zip(shares, step.drafts, strict=True):
                for token, p in table(draft).items():
                    mixed[token] = mixed.get(token, 0.0) + share * p
            ids = np.array(sorted(mixed))
            assert step.token == draw(rule, at, ids, np.array([mixed[token] for token in ids.tolist()]))


def test_of_several_parties_the_asked_one_alone_is_not_bounded(model: LanguageModel) -> None:
    """Where nothing may be said the others give what they would without a passage, and their passages do not matter."""
    asked = ("where is the mill", [("the mill is in town",), ("the bridge is old",), ("two men",)])
    other = ("where is the mill", [("the mill is in town",), ("it was built by hand",), ("in the flood",)])
    law = Parties([model] * 3, scores, 1, "off", most_bits=1e-9)
    (first,), (second,) = (law.answers([each], [Rule(1, 1.0, 1.0)])[0] for each in (asked, other))
    assert [table(draft) for draft in first.drafts[1:]] == [table(draft) for draft in second.drafts[1:]]
    assert table(first.drafts[1]) == table(first.drafts[2])
    assert table(first.drafts[0]) != table(first.drafts[1])


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    """Sixteen articles of five paragraphs with four questions each; a chat; four domains of eight conversations."""
    for folder in ("squad", "lihua_world", "mtrag_un"):
        (tmp_path / folder).mkdir()
    articles = [{"paragraphs": [_paragraph(town, at) for at in range(5)]} for town in range(16)]
    (tmp_path / "squad/squad2_dev_half.json").write_text(json.dumps({"data": articles}))
    (tmp_path / "lihua_world/chats.jsonl").write_text(json.dumps({"id": "20260110_1000", "text": "bread"}))
    with (tmp_path / "lihua_world/query_set.csv").open("w", newline="") as file:
        csv.writer(file).writerow(["Question", "Gold Answer", "Evidence", "Type"])
    rows = [_turn(domain, at) for at in range(8) for domain in ("sea", "sky", "law", "tax")]
    (tmp_path / "mtrag_un/reference.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def _paragraph(town: int, at: int) -> dict[str, object]:
    asked = [
        {"question": f"Which {what} has {town}-{at}?", "is_impossible": False, "answers": [{"text": f"{what}{town}"}]}
        for what in ("mill", "lake", "road", "tree")
    ]
    return {"context": f"In {town}-{at} are mill{town}, lake{town}, road{town} and tree{town}.", "qas": asked}


def _turn(domain: str, at: int) -> dict[str, object]:
    return {
        "conversation_id": f"{domain}{at}", "Collection": domain, "answerability": ["ANSWERABLE"],
        "contexts": [{"document_id": f"{domain}-{at}", "text": f"The {domain} of {at} is blue."}],
        "input": [{"speaker": "user", "text": f"Tell me of the {domain}."}, {"speaker": "agent", "text": "Yes?"},
                  {"speaker": "user", "text": f"Which colour has {domain} {at}?"}],
        "targets": [{"text": "blue"}],
    }  # fmt: skip


def test_each_part_lies_on_a_device_of_its_own_and_none_where_it_is_asked(corpora: Path) -> None:
    """So that a group's gain is of what others have; no question is asked twice."""
    made = worlds(corpora, "reported", 6, seed=2)
    for world in made:
        texts = {device: {each.text for each in own} for device, own in world.documents.items()}
        assert len(texts) == 4
        for one in world.asked:
            assert sorted(one.devices) == sorted(texts)
            for at, part in enumerate(one.parts):
                assert [part.gold in texts[device] for device in one.devices] == [turn == at + 1 for turn in range(4)]
    asked = [one for world in made for one in world.asked]
    assert {of: [len(one.parts) for one in asked if one.of == of] for of in (*PARTS, MTRAG)} == {
        "one part": [1] * 6, "two parts": [2] * 6, "three parts": [3] * 6, MTRAG: [1] * 6,
    }  # fmt: skip
    single = [text for one in asked for text in one.text.lower().split(" and ")]
    assert len(set(single)) == len(single) == 6 * (1 + 2 + 3 + 1)


def test_documents_of_two_devices_never_have_one_name(corpora: Path) -> None:
    """In one place together they would replace each other."""
    for world in worlds(corpora, "reported", 1, seed=0):
        names = [each.name for own in world.documents.values() for each in own]
        assert len(set(names)) == len(names)


def report_of(right: dict[str, list[float]], of: str = "two parts") -> Report:
    """What each way, or the device at a place alone, had right of each question."""
    report = Report({})
    for way, each in right.items():
        place = int(way) if way.isdigit() else None
        name = way if place is None else ALONE
        report.rows += [
            {"set": of, "question": str(at), "way": name, "place": place, "right": one, "f1": 0.0}
            for at, one in enumerate(each)
        ]
    return report


def test_the_best_device_is_known_afterwards_only() -> None:
    """Question by question, whichever it was; the asked one is the first."""
    report = report_of({"0": [0.0, 0.5, 0.0], "1": [0.5, 0.0, 0.0], "2": [0.0, 0.0, 1.0], "3": [0.0, 0.5, 0.0]})
    assert [answers.scored(report.rows, "two parts", BEST)[str(at)]["right"] for at in range(3)] == [0.5, 0.5, 1.0]
    assert [answers.scored(report.rows, "two parts", HOME)[str(at)]["right"] for at in range(3)] == [0.0, 0.5, 0.0]


def test_a_group_must_gain_where_several_know_and_lose_nothing_else() -> None:
    """Over the best device where two know; as good as passages in one place; what was not asked is not claimed."""
    same = report_of({GROUP: [0.5] * 20, "0": [0.0] * 20, "1": [0.5] * 20, PASSAGES: [0.5] * 20})
    answers.claim(same)
    assert [(str(each["name"]).rpartition("beyond ")[2], each["holds"]) for each in same.claims] == [
        (BEST, False), (HOME, True), (PASSAGES, True),
    ]  # fmt: skip
    better = report_of({GROUP: [1.0] * 20, "0": [0.0] * 20, "1": [0.5] * 20, PASSAGES: [1.0] * 20})
    answers.claim(better)
    assert [each["holds"] for each in better.claims] == [True, True, True]
    worse = report_of({GROUP: [0.0] * 20, "1": [0.5] * 20}, "one part")
    answers.claim(worse)
    assert [each["holds"] for each in worse.claims] == [False]
    one_less = report_of({GROUP: [0.5] * 19 + [0.0], PASSAGES: [0.5] * 20}, "one part")
    answers.claim(one_less)
    assert [each["holds"] for each in one_less.claims] == [None]


def law(counts: dict[int, int]) -> Distribution:
    """With these counts."""
    return Distribution(np.array(sorted(counts)), np.array([counts[token] for token in sorted(counts)]), 1.0)


def test_a_leader_sees_what_a_bound_lets_a_draft_raise() -> None:
    """The likeliest of what is raised as far as it may be; where nothing is, the likeliest of all."""
    alone, draft = law({1: 800, 2: 100, 3: 100}), law({1: 500, 2: 300, 3: 200})
    assert likeliest(draft, alone) == 1
    assert raised(1.0)(draft, alone) == 2
    assert raised(4.0)(draft, alone) == 1


def test_a_leader_reads_a_piece_wherever_it_guesses_the_sentence(model: LanguageModel) -> None:
    """One guess for every token of the sentence, behind those before it, whatever its length; never an end."""
    sentences = [[9, 10, 11, 12, 13], [14, 15, 16]]
    asked = [("where is the mill", ("the mill is in town",)), ("who", ("two men", "one man"))]

    def knows(draft: Distribution, _: Distribution) -> int:
        assert not set(draft.ids.tolist()) & set(model.eos)
        return 10

    first, second = Led(model, scores, TOKENS, 2.0, knows).forced(asked, sentences)
    assert [guess.before for guess in first.guesses] == [tuple(sentences[0][:at]) for at in range(5)]
    assert (first.texts, second.texts) == ([model.text([10])], [])
    assert len(second.guesses) == 3
    assert first.answer == []
    followed = Led(model, scores, TOKENS, 0.0, likeliest).followed(asked)
    assert [len(one.answer) for one in followed] == [TOKENS] * 2
    assert [[guess.token for guess in one.guesses] for one in followed] == [one.answer for one in followed]


@pytest.mark.parametrize("bits", [0.5, 2.0])
def test_the_drafts_that_a_leader_reads_are_within_the_bound(model: LanguageModel, bits: float) -> None:
    """And would not be without it."""
    found: dict[float, list[float]] = {bits: [], 0.0: []}
    for bound, moved in found.items():

        def look(draft: Distribution, alone: Distribution, moved: list[float] = moved) -> int:
            before = np.array([alone.of(token) for token in draft.ids.tolist()])
            both = before > 0
            moved.append(float(np.abs(np.log2(draft.probabilities[both] / before[both])).max()))
            return likeliest(draft, alone)

        Led(model, scores, TOKENS, bound, look).followed([("where is the mill", ("the mill is in town",))])
    assert max(found[bits]) <= bits + 0.01
    assert max(found[0.0]) > bits


def test_a_bound_must_leave_a_leader_fewer_sentences() -> None:
    """By the better of both ways of reading; followed and forced apart; where intervals overlap nobody can tell."""
    report = Report({})
    for bits, reads, five in ((0.0, "likeliest", 0.5), (1.0, "likeliest", 0.1), (1.0, "raised", 0.5)):
        row: Row = {"bits": bits, "reads": reads, "five_words": five, "low": five - 0.1, "high": five + 0.1}
        report.rows += [row | {"forced": forced} for forced in (False, True)]
    report.rows.append(row | {"bits": None, "reads": "question alone", "five_words": 0.9, "forced": True})
    for five, holds in ((0.5, False), (0.35, None), (0.25, True)):
        report.rows[-2] |= {"five_words": five, "low": five - 0.1, "high": five + 0.1}
        privacy.claim(report)
        assert [each["holds"] for each in report.claims] == [False, holds]


def test_what_counts_as_read_is_five_words_of_the_sentence_itself(model: LanguageModel) -> None:
    """A leader that has the text has all; one that has nothing has no sentence."""
    private = canaries(2, 0)
    how = privacy.How(2, (0,), "", "", TOKENS, 0)
    knows, none = Had(texts=[private[0].text]), Had()
    row = privacy.counted(model, private, [knows, none], how)
    assert (row["five_words"], row["whole"], row["sentences"]) == (0.5, 0.5, 2)
    row = privacy.counted(model, private, [none, Had(texts=[private[0].text])], how)
    assert (row["five_words"], row["whole"]) == (0.0, 0.0)
