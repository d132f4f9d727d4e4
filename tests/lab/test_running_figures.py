"""Figures measured on running pairs: what is judged, kept and resumed; the pair itself in a long test."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hocket_bus.errors import BadRequest
from hocket_daemon.engine.runtime.entry import KV, Damaged
from hocket_lab.bench.baselines import moved
from hocket_lab.bench.figures import first_token, frame, latency, running, scheduling
from hocket_lab.bench.figures.frame import settings_of
from hocket_lab.bench.parties.methods import METHODS
from hocket_lab.bench.running.stream import Run, figures
from hocket_lab.bench.speed import kv
from hocket_lab.reporting.report import Report, Row

MS = {"device": 25.0, "sync": 330.0, "sync-both": 170.0, "independent": 180.0, "coupled": 60.0}


def answers(ms: Callable[[str, float, int], float], ids: Callable[[str, float], list[int]]) -> list[Row]:
    """Rows of 5 answers by each method at 0 and 300 ms, both temperatures, with a little noise."""
    source = random.Random(1)
    rows: list[Row] = []
    for temperature in (1.0, 0.0):
        for rtt_ms in (0, 300):
            for method in MS:
                if method == "device" and rtt_ms:
                    continue
                cell: Row = dict(zip(latency.CELL, (25.0, 25.0, temperature, rtt_ms, method), strict=True))
                cell["asked"] = "paragraph"
                for prompt in range(5):
                    step_s = ms(method, temperature, rtt_ms) * source.uniform(0.999, 1.001) / 1000
                    run = Run([0.1 + step_s * at for at in range(4)], ids(method, temperature), (0.5, 0.75), 8)
                    rows.append(cell | running.row(prompt, run))
    return rows


def good_ms(method: str, temperature: float, rtt_ms: int) -> float:
    if rtt_ms == 0:
        return 25.0
    return 60.0 if method == "independent" and temperature == 0 else MS[method]


def good_ids(method: str, temperature: float) -> list[int]:
    return [4, 3, 2, 1] if method == "independent" and temperature else [1, 2, 3, 4]


def verdicts(rows: list[Row]) -> list[bool | None]:
    return [claim.holds for claim in latency.FIGURE.judge(rows)]


def test_an_answer_comes_back_from_its_row() -> None:
    """Times to a hundredth of a millisecond, ids and shares exactly."""
    run = Run([0.12345, 0.2], [7, 8], (0.5, None), 3, (None, 0.25))
    again = running.run_of(json.loads(json.dumps(running.row(0, run))))
    assert again.times_s == pytest.approx(run.times_s, abs=1e-5)
    assert (again.ids, again.accepted, again.drafts, again.expected) == (run.ids, run.accepted, 3, (None, 0.25))


def test_what_is_shown_at_once_has_no_time_per_token() -> None:
    """Its time to the first token is the time to the last."""
    found = figures([Run([2.0] * 5, [1] * 5)])
    assert (found["ms_per_token"], found["gap_p95_ms"], found["ttft_ms"]) == (None, None, 2000.0)


def test_figure_6_holds_where_every_target_is_met() -> None:
    """All nine parts of the claim at equal sides, all of them told."""
    assert verdicts(answers(good_ms, good_ids)) == [True] * 9


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        (("independent", 1.0, 300, 0.7 * 330), 0),
        (("coupled", 1.0, 300, 0.55 * 180), 1),
        (("coupled", 1.0, 300, 0.26 * 330), 2),
        (("sync-both", 1.0, 300, 130.0), 3),
        (("coupled", 0.0, 300, 63.0), 4),
        (("coupled", 1.0, 0, 27.0), 5),
        (("independent", 0.0, 0, 25.7), 6),
    ],
)
def test_figure_6_sees_each_target_missed(wrong: tuple[str, float, int, float], part: int) -> None:
    """A value beyond one target is a miss of that part."""

    def ms(method: str, temperature: float, rtt_ms: int) -> float:
        return wrong[3] if (method, temperature, rtt_ms) == wrong[:3] else good_ms(method, temperature, rtt_ms)

    assert verdicts(answers(ms, good_ids))[part] is False


@pytest.mark.parametrize(("method", "temperature", "part"), [("coupled", 1.0, 7), ("independent", 0.0, 8)])
def test_figure_6_sees_one_other_token(method: str, temperature: float, part: int) -> None:
    """Coupled at any temperature and independent greedy must give the ids of sync."""

    def ids(own: str, at: float) -> list[int]:
        return [1, 2, 3, 5] if (own, at) == (method, temperature) else good_ids(own, at)

    judged = verdicts(answers(good_ms, ids))
    assert [number for number, holds in enumerate(judged) if not holds] == [part]


def test_figure_6_says_what_was_not_measured() -> None:
    """Without the far round trip its ratios are open, not met."""
    near = [row for row in answers(good_ms, good_ids) if row["rtt_ms"] == 0]
    assert verdicts(near)[:4] == [None] * 4


def test_settings_of_figure_6_are_checked() -> None:
    """Held times go in pairs, and methods are known."""
    for wrong in ("device_ms=25", "methods=sync,sink"):
        with pytest.raises(BadRequest):
            settings_of(latency.FIGURE, [wrong])


def first_tokens(ms: dict[tuple[int, int, str], float]) -> list[Row]:
    """Rows of 5 first tokens with stored KV; `ms` names values other than those that meet every target."""
    base = {"device": 50.0, "cloud": 50.0, "drcg-text": 200.0, "drcg-kv": 150.0, "independent": 50.0, "coupled": 50.0}
    rows: list[Row] = []
    for tokens in (16, 256):
        for rtt_ms in (0, 300):
            for method, own_ms in base.items():
                cell: Row = dict(zip(first_token.CELL, (True, tokens, rtt_ms, method), strict=True))
                at_ms = ms.get((tokens, rtt_ms, method), own_ms + rtt_ms)
                rows += [cell | running.row(prompt, Run([at_ms / 1000], [1])) for prompt in range(5)]
    return rows


@pytest.mark.parametrize(
    ("wrong", "missed"),
    [
        ({}, []),
        ({(16, 0, "coupled"): 56.0}, ["/ device"]),
        ({(256, 300, "independent"): 381.0}, ["time to the first token"]),
        ({(256, 0, "drcg-text"): 99.0}, ["drcg-text", "drcg-text"]),
        ({(256, 0, "drcg-kv"): 99.0}, ["drcg-kv", "drcg-kv"]),
        ({(256, 300, "drcg-kv"): 150.0}, ["at 300 ms over 0 ms"]),
        ({(256, 0, "coupled"): 61.0}, ["/ device", "/ coupled with 16"]),
    ],
)
def test_figure_7_sees_each_target_missed(wrong: dict[tuple[int, int, str], float], missed: list[str]) -> None:
    """All holds where every target is met; a value beyond one is a miss of that part alone."""
    claims = first_token.FIGURE.judge(first_tokens(wrong))
    names = [claim.name for claim in claims if claim.holds is False]
    assert len(claims) == 15
    assert None not in [claim.holds for claim in claims]
    assert len(names) == len(missed)
    assert all(part in name for part, name in zip(missed, names, strict=True))


def test_one_length_of_documents_is_not_compared_with_itself() -> None:
    """Long over short cannot be told from it, by figure 7 or by `hocket bench kv`."""
    one = [row for row in first_tokens({}) if row["document_tokens"] == 256]
    told = {claim.name: claim.holds for claim in first_token.FIGURE.judge(one)}
    assert [holds for name, holds in told.items() if name.count("256-token") == 2 and "drcg" not in name] == [
        True, None, True, None,
    ]  # fmt: skip
    report = Report({})
    for system in kv.SYSTEMS:
        report.add({"system": system, "documents": "stored KV", "tokens": 256, "ttft_ms": 50.0})
    kv._claim(report, kv.Settings(tokens=[256], questions=1, passages=1, documents=1))
    assert [claim["holds"] for claim in report.claims] == [None, None]


def test_moved_kv_is_the_same_behind_the_link() -> None:
    """Parts are bounded and put together give every tensor; a byte that changed is noticed."""
    source = np.random.default_rng(3)
    kv = KV("float32", [source.integers(256, size=(4, 700, 256), dtype=np.uint8) for _ in range(4)])
    sent = list(moved.parts(kv))
    assert max(map(len, sent)) <= moved.PART_BYTES < sum(map(len, sent))
    came = bytearray(b"".join(sent))
    put_together = moved.whole(came)
    assert put_together.dtype == kv.dtype
    assert all(np.array_equal(*pair) for pair in zip(kv.states, put_together.states, strict=True))
    came[-1] ^= 1
    with pytest.raises(Damaged):
        moved.whole(came)


def test_figure_8_judges_answer_by_answer() -> None:
    """A scheduler that loses a little on every answer is worse; one that loses on some and wins on others is not."""

    def rows(gains: list[float]) -> list[Row]:
        made: list[Row] = []
        for decider in scheduling.DECIDERS:
            cell: Row = dict(zip(scheduling.CELL, ("running", 25.0, 25.0, 300, decider), strict=True))
            own = gains if decider == "scheduler" else [0.0] * len(gains)
            made += [cell | {"prompt": at, "ms_per_token": 100.0 * (at + 1) + gain} for at, gain in enumerate(own)]
        return made

    def holds(gains: list[float]) -> list[bool | None]:
        return [claim.holds for claim in scheduling.FIGURE.judge(rows(gains))]

    assert holds([2.0] * 10) == [None] * 3 + [False] * 3
    assert holds([2.0, -2.0] * 5) == [None] * 3 + [True] * 3


def test_few_answers_tell_nothing() -> None:
    """Of four answers to a question neither a gain nor a loss is told; of five it is. Equal ids need no statistics."""
    few = {4: None, 5: True}
    for number, told in few.items():
        slow = [row for row in answers(good_ms, good_ids) if int(row["prompt"] or 0) < number]
        assert verdicts(slow) == [told] * 7 + [True] * 2
        first = [row for row in first_tokens({}) if int(row["prompt"] or 0) < number]
        assert {claim.holds for claim in first_token.FIGURE.judge(first)} == {told}
        cell: Row = dict(zip(scheduling.CELL, ("running", 25.0, 25.0, 300, "scheduler"), strict=True))
        times_ms = [90.0, 400.0, 90.0, 90.0, 90.0][:number]
        rows = [
            cell | {"aggregating": decider, "prompt": at, "ms_per_token": ms if decider == "scheduler" else 100.0}
            for decider in scheduling.DECIDERS
            for at, ms in enumerate(times_ms)
        ]
        assert [claim.holds for claim in scheduling.FIGURE.judge(rows)] == [None] * 3 + [told] * 3


@pytest.mark.slow
def test_figure_8_simulates_every_decider(tmp_path: Path) -> None:
    """Without running pairs the verdict is open; all deciders replay the same answers."""
    changes = ["measured_rtts_ms=", "rtts_ms=0,300", "device_ms=132", "cloud_ms=8.4", "sequences=4"]
    assert frame.run(8, tmp_path, tmp_path, changes) is not True
    rows = json.loads((tmp_path / "figure-8.json").read_text())["rows"]
    counts = {decider: sum(row["aggregating"] == decider for row in rows) for decider in scheduling.DECIDERS}
    assert counts == dict.fromkeys(("scheduler", "device", "cloud", "random"), 8)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Paragraphs of made-up words where WikiText-2 would be."""
    source = random.Random(3)
    words = ["".join(source.choice("abdeiklmnorstu") for _ in range(5)) for _ in range(80)]
    folder = tmp_path / "data" / "wikitext2"
    folder.mkdir(parents=True)
    for name in ("wiki.test.raw", "wiki.valid.raw"):
        lines = (" ".join(source.choices(words, k=90)) for _ in range(8))
        (folder / name).write_text("\n".join(lines))
    return tmp_path / "data"


@pytest.mark.long
@pytest.mark.timeout(900)
def test_figure_6_on_a_running_pair(tmp_path: Path, corpus: Path) -> None:
    """Every method answers, the ids are those of sync, and what is measured is not measured again."""
    changes = ["device_ms=1", "cloud_ms=1", "rtts_ms=20", "prompts=2", "tokens=5", "articles=6"]
    told = [{"qas": [{"question": f"Who is {name}?", "is_impossible": False}], "context": f"{name} is here."}
            for name in ("Mira", "Tano", "Lio")]  # fmt: skip
    (corpus / "squad").mkdir()
    (corpus / "squad" / "squad2_dev_half.json").write_text(json.dumps({"data": [{"paragraphs": told}]}))
    changes += ["questions=3"]
    frame.run(6, tmp_path, corpus, changes)
    content = json.loads((tmp_path / "figure-6.json").read_text())
    assert {row["method"] for row in content["summary"]} == set(METHODS)
    assert {len(row["ids"].split()) for row in content["rows"]} == {5}
    assert {row["method"] for row in content["summary"] if row["asked"] == "question"} == set(METHODS)
    same = [claim for claim in content["claims"] if "the ids of sync" in claim["name"]]
    assert [claim["holds"] for claim in same] == [True, True]
    frame.run(6, tmp_path, corpus, changes)
    assert json.loads((tmp_path / "figure-6.json").read_text())["rows"] == content["rows"]


@pytest.mark.long
@pytest.mark.timeout(900)
def test_figure_7_on_a_running_pair(tmp_path: Path, corpus: Path) -> None:
    """Every method shows a first token, with documents read anew and with those kept on both sides."""
    methods = ["device", "drcg-kv", "coupled"]
    changes = ["document_tokens=16", "rtts_ms=0", "prompts=2", "passages=2", f"methods={','.join(methods)}"]
    frame.run(7, tmp_path, corpus, changes)
    rows = json.loads((tmp_path / "figure-7.json").read_text())["rows"]
    assert sorted((row["stored"], row["method"]) for row in rows) == sorted(
        (stored, method) for stored in (False, True) for method in methods for _ in range(2)
    )
