"""Laws of `hocket bench figure`: runs are never mixed, every figure works in a tiny setting, verdicts are earned."""

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import msgspec
import numpy as np
import pytest

from exact import exact
from hocket_bus.errors import BadRequest
from hocket_daemon.aggregation.exchange.schedule import latency
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.sampling.distribution import truncate
from hocket_daemon.engine.segments import Segment
from hocket_lab.bench.figures import case_study, frame, perplexity, speedup
from hocket_lab.bench.figures.frame import Claim, Figure, find, separate, settings_of, together
from hocket_lab.bench.figures.ranges import check
from hocket_lab.bench.figures.text import Library
from hocket_lab.forcing import Forced
from hocket_lab.reporting.report import Report, Row
from hocket_lab.simulator.recording import Rates, drawn, save
from hocket_tools.main import run
from hocket_tools.train.wikitext import plain


class Tiny(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rows: int = 3
    delays: tuple[int, ...] = (0, 100)
    name: str = "x"


class Counting:
    """A figure that can be interrupted, and that counts what it measures."""

    def __init__(self, holds: bool | None = True, fails_at: int | None = None) -> None:
        self.measured: list[int] = []
        self.fails_at = fails_at
        self.holds = holds
        self.inputs = {"weights": "a"}

    def figure(self) -> "Figure[Tiny]":
        return Figure(
            title="tiny",
            paper="numbers are numbers",
            settings=Tiny,
            measure=self._measure,
            judge=lambda rows: [Claim("part", "any", len(rows), self.holds)],
            draw=self._draw,
            summary=lambda rows: [{"sum": sum(int(row["number"] or 0) for row in rows)}],
            inputs=lambda _settings, _data: self.inputs,
        )

    def _draw(self, png: Path, _rows: Sequence[Row], _settings: Tiny) -> None:
        png.write_bytes(b"picture")

    def _measure(self, report: Report, settings: Tiny, _data: Path) -> None:
        for number in range(settings.rows):
            if report.find(number=number) is None:
                if number == self.fails_at:
                    raise KeyboardInterrupt
                self.measured.append(number)
                report.add({"number": number})


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Counting:
    made = Counting()
    monkeypatch.setattr(frame, "find", lambda _number: made.figure())
    return made


def test_an_interrupted_figure_goes_on_where_it_stopped(tmp_path: Path, counting: Counting) -> None:
    """What was measured is not measured again."""
    counting.fails_at = 2
    with pytest.raises(KeyboardInterrupt):
        frame.run(4, tmp_path, tmp_path, [])
    counting.fails_at = None
    assert frame.run(4, tmp_path, tmp_path, []) is True
    assert counting.measured == [0, 1, 2]
    content = json.loads((tmp_path / "figure-4.json").read_text())
    assert content["rows"] == [{"number": 0}, {"number": 1}, {"number": 2}]
    assert content["summary"] == [{"sum": 3}]


def test_results_of_other_settings_are_neither_mixed_nor_overwritten(tmp_path: Path, counting: Counting) -> None:
    """Other settings and other inputs are refused, by name, and the file stays as it was."""
    frame.run(4, tmp_path, tmp_path, [])
    before = (tmp_path / "figure-4.json").read_bytes()
    with pytest.raises(BadRequest, match="other rows"):
        frame.run(4, tmp_path, tmp_path, ["rows=4"])
    counting.inputs = {"weights": "b"}
    with pytest.raises(BadRequest, match="other inputs"):
        frame.run(4, tmp_path, tmp_path, [])
    assert (tmp_path / "figure-4.json").read_bytes() == before
    assert counting.measured == [0, 1, 2]


@pytest.mark.parametrize(
    ("holds", "words"),
    [(True, "claim holds here"), (False, "claim does not hold here"), (None, "claim cannot be told here")],
)
def test_a_figure_ends_with_its_verdict(
    tmp_path: Path, counting: Counting, capsys: pytest.CaptureFixture[str], holds: bool | None, words: str
) -> None:
    """On the last line, in the JSON and in the table that is kept; only a claim that fails is a failure."""
    counting.holds = holds
    assert run(["bench", "figure", "4", "--out", str(tmp_path)]) == (1 if holds is False else 0)
    assert capsys.readouterr().out.strip().splitlines()[-1] == f"{words}: numbers are numbers"
    claims = json.loads((tmp_path / "figure-4.json").read_text())["claims"]
    assert [claim["holds"] for claim in claims] == [holds, holds]
    assert words in (tmp_path / "figure-4.txt").read_text()
    assert (tmp_path / "figure-4.png").is_file()


def test_settings_are_changed_by_name_and_type() -> None:
    """Numbers, lists and text; an empty list too; what is wrong is refused with what there is."""
    figure = Counting().figure()
    assert settings_of(figure, ["rows=7", "delays=5,6", "name=y"]) == Tiny(7, (5, 6), "y")
    assert settings_of(figure, ["delays="]).delays == ()
    for wrong in ("rows=many", "row=7", "rows"):
        with pytest.raises(BadRequest):
            settings_of(figure, [wrong])


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (9, "tokens=0"), (9, "jitter=-1"), (9, "decode_ms=0,20"), (9, "accept=0.5,nan"), (9, "strategy=best"),
        (4, "device_ms=25,-5"), (4, "accept_cloud=5"), (4, "sequences=0"), (4, "cloud_ms=inf"),
        (5, "windows=-1"), (5, "weights=off,on"), (7, "passages=0"), (8, "rtts_ms=-100"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_are_refused_by_name(
    number: int, change: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, before anything is measured."""
    assert run(["bench", "figure", str(number), "--out", str(tmp_path), "--set", change]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"hocket: {change.partition('=')[0]} cannot be ")
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_every_figures_defaults_can_be() -> None:
    """The ranges forbid none of them."""
    for number in frame.FIGURES:
        for name, value in msgspec.structs.asdict(settings_of(find(number), [])).items():
            check(name, value)


def test_every_figure_is_found_and_no_other() -> None:
    """The table of figures names files that hold one."""
    for number in frame.FIGURES:
        assert find(number).title
        settings_of(find(number), [])
    with pytest.raises(BadRequest, match="choose one of"):
        find(1)


def test_a_verdict_needs_every_part() -> None:
    """One miss decides; one open part leaves it open; nothing told is nothing told."""
    assert together([True, True]) is True
    assert together([True, None, False]) is False
    assert together([True, None]) is None
    assert together([]) is None
    assert [separate(*ends) for ends in ((0.1, 0.2), (-0.2, -0.1), (-0.1, 0.1), (None, 1.0))] == [
        True, False, None, None,
    ]  # fmt: skip


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("device", [0.01, 0.05, 0.2, 0.35, 0.36, 1.0])
def test_the_theorem_is_the_ratio_of_equation_7(device: float, alpha: float) -> None:
    """Ŝ of Eq. 9 equals Z with nothing accepted over Z, in all three regions."""
    cloud, rtt = 0.05, 0.3
    ratio = latency(device, cloud, rtt, 0.0) / latency(device, cloud, rtt, alpha)
    assert speedup.speedup(device, cloud, rtt, alpha) == pytest.approx(ratio)


@pytest.mark.slow
def test_figure_4_shows_theory_beside_the_simulation(tmp_path: Path) -> None:
    """Tiny grid, no running pair: within 5 % where it is told, and what was not measured leaves the verdict open."""
    changes = ["measured_rtts_ms=", "device_ms=25,400", "rtts_ms=300", "accept_cloud=0.8"]
    assert frame.run(4, tmp_path, tmp_path, changes) is None
    content = json.loads((tmp_path / "figure-4.json").read_text())
    assert [row["theory"] for row in content["summary"]][1] == 1.0
    assert [claim["holds"] for claim in content["claims"]] == [True, True, None, None]


def measured_cells(own_ms: Sequence[float], sync_ms: float = 325.0) -> list[Row]:
    """Both systems at 300 ms; the theorem says 1.857 at the acceptance seen."""
    each = {"sync": [sync_ms] * len(own_ms), "independent": own_ms}
    cell: Row = {"rtt_ms": 300, "hold_ms": 25.0, "accept_cloud": 0.5}
    return [cell | {"system": system, "each_ms": " ".join(map(str, ms))} for system, ms in each.items()]


@pytest.mark.parametrize(
    ("own_ms", "holds"),
    [
        ([175.0] * 30, True),
        ([175.0] * 5, True),
        ([175.0] * 4, None),
        ([300.0] * 4, None),
        ([300.0] * 30, False),
        ([100.0] * 30, False),
        ([185.0] * 30, False),  # 5.4 % slower
        ([135.0, 215.0] * 15, None),  # the mean is right, and known to 8 %
        ([165.0, 205.0] * 15, False),  # the mean 5.4 % slower and known to 4 %, so that its interval comes near
        ([60.0, 140.0] * 15, False),  # known to 15 %, and far from the theorem all the same
    ],
)
def test_figure_4_judges_measured_rows(own_ms: list[float], holds: bool | None) -> None:
    """The theorem is near or is not; that little is known never makes it so."""
    assert speedup.FIGURE.judge(measured_cells(own_ms))[2].holds is holds


def test_figure_4_compares_the_same_prompts() -> None:
    """Prompts of very different times have one ratio, which is known exactly."""
    own_ms = [100.0, 400.0] * 10
    rows = measured_cells(own_ms)
    rows[0]["each_ms"] = " ".join(str(ms * 2) for ms in own_ms)
    found = speedup.FIGURE.summary(rows)[0]
    assert (found["speedup"], found["low"], found["high"]) == pytest.approx((2.0, 2.0, 2.0))


@pytest.mark.slow
def test_figure_9_says_what_was_replayed(tmp_path: Path) -> None:
    """Drawn or recorded decisions, by name; every step's next side is the one that ΔZ names."""
    assert frame.run(9, tmp_path / "drawn", tmp_path, []) is True
    save(tmp_path / "tape.json", drawn(Rates((0.9, 0.2)), 20, 1, 1))
    assert frame.run(9, tmp_path / "tape", tmp_path, [f"recording={tmp_path / 'tape.json'}"]) is True
    told = json.loads((tmp_path / "tape" / "figure-9.json").read_text())
    assert told["settings"]["inputs"]["stream"] == "replayed by the simulator"
    assert len(told["rows"]) == case_study.Settings().tokens
    assert {row["side"] for row in told["rows"]} == {"device", "cloud"}


def test_figure_9_sees_a_scheduler_that_does_not_follow_the_rule() -> None:
    """A step aggregated on the other side than ΔZ says is a miss."""
    good: Row = {"delta_z_ms": 5.0, "next_side": "cloud"}
    bad: Row = {"delta_z_ms": 5.0, "next_side": "device"}
    assert case_study.FIGURE.judge([good])[0].holds is True
    assert case_study.FIGURE.judge([good, bad])[0].holds is False
    assert case_study.FIGURE.judge([{"delta_z_ms": 0.0, "next_side": "device"}])[0].holds is None


def test_teacher_forcing_equals_reading_token_by_token(tiny_models: dict[str, Path]) -> None:
    """The rows of `score` are what the slots give one token at a time."""
    model = TransformersModel(exact(name=str(tiny_models["device"]), slots=1), "device")
    ids = [random.Random(1).randrange(2, 300) for _ in range(30)]
    scored = Forced(model).score(ids, 12)
    row = model.slots.take(1)
    parts = [ids[:18], *([token] for token in ids[18:-1])]
    rows = [model.read([Segment(row, [part])])[0].probabilities[0] for part in parts]
    assert np.abs(scored - np.array(rows)).max() < 1e-5


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A WikiText-2 of made-up words."""
    source = random.Random(3)
    words = ["".join(source.choice("abdeiklmnorstu") for _ in range(5)) for _ in range(80)]

    def articles(number: int) -> str:
        lines = (f" = Title {at} = \n\n " + " ".join(source.choices(words, k=150)) + " . \n\n" for at in range(number))
        return "".join(lines)

    folder = tmp_path / "data" / "wikitext2"
    folder.mkdir(parents=True)
    (folder / "wiki.train.tokens").write_text(articles(12))
    (folder / "wiki.test.raw").write_text(articles(4))
    return tmp_path / "data"


def tiny_settings(models: dict[str, Path]) -> list[str]:
    changes = {
        "windows": 2, "window": 80, "documents": "1,2", "context_tokens": 60, "document_tokens": 24, "wire_every": 4,
        "device_model": models["device"], "cloud_model": models["cloud"], "weights": "off,static", "chunk_words": 20,
    }  # fmt: skip
    return [f"{name}={value}" for name, value in changes.items()]


@pytest.mark.slow
def test_figure_5_in_a_tiny_setting(tmp_path: Path, corpus: Path, tiny_models: dict[str, Path]) -> None:
    """All methods, with intervals and the share outside the wire set; two windows tell nothing, and it says so."""
    out = tmp_path / "out"
    assert frame.run(5, out, corpus, tiny_settings(tiny_models)) is None
    content = json.loads((out / "figure-5.json").read_text())
    methods = {"crcg device", "crcg cloud", "drcg", "drcg unrelated", "dragon off", "dragon static"}
    assert {(row["method"], row["documents"]) for row in content["summary"]} == {
        (method, count) for method in methods for count in (0, 1, 2)
    }
    for row in content["summary"]:
        assert row["ppl_low"] <= row["perplexity"] <= row["ppl_high"]
        if row["method"].startswith("dragon") and row["documents"]:
            assert 0 <= row["outside_0.98"] <= row["outside_0.8"] <= 1
    assert frame.run(5, out, corpus, tiny_settings(tiny_models)) is None  # all rows are there: nothing is scored again
    assert json.loads((out / "figure-5.json").read_text())["rows"] == content["rows"]


def test_without_a_corpus_figure_5_is_one_line(
    tmp_path: Path, tiny_models: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """It names the folder that is missing."""
    words = [word for change in tiny_settings(tiny_models) for word in ("--set", change)]
    assert run(["bench", "figure", "5", "--data", str(tmp_path), "--out", str(tmp_path), *words]) == 2
    assert "--data" in capsys.readouterr().err


def test_mixing_follows_the_papers_equations() -> None:
    """Eq. 2's weights over all documents equal Eq. 4's η over the sides' own mixtures."""
    rng = np.random.default_rng(0)
    (gold_l, gold_r), (scores_l, scores_r) = rng.random((2, 3, 5)), rng.normal(size=(2, 3, 5))
    mixed = perplexity._mixed([(gold_l, scores_l), (gold_r, scores_r)])
    h_l, h_r = np.exp(scores_l).sum(axis=0), np.exp(scores_r).sum(axis=0)
    p_l = (np.exp(scores_l) * gold_l).sum(axis=0) / h_l
    p_r = (np.exp(scores_r) * gold_r).sum(axis=0) / h_r
    assert mixed == pytest.approx(h_l / (h_l + h_r) * p_l + h_r / (h_l + h_r) * p_r)


def test_a_token_is_outside_when_neither_side_sends_it() -> None:
    """Against the definition, token by token."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(50, 0.2), size=(2, 6)).astype(np.float32)  # two sides of one document, six places
    gold = np.where(np.arange(6) % 2, p[0].argmax(axis=1), p.sum(axis=0).argmin(axis=1))
    found = perplexity._outside([(p[:1], np.zeros((1, 6))), (p[1:], np.zeros((1, 6)))], gold, [0.8])
    sent = [any(token in truncate(side[at].astype(float), 0.8).ids for side in p) for at, token in enumerate(gold)]
    assert found == {"outside_0.8": pytest.approx(1 - fmean(sent))}
    assert found["outside_0.8"] == 0.5


def measured(gain: Sequence[float], windows: int = 30) -> list[Row]:
    """Rows in which DRAGON saves gain[0] nats a token with one document and gain[1] with two, its rivals none."""
    source = random.Random(2)
    rows: list[Row] = []
    for window in range(windows):
        base = 3 + source.gauss(0, 0.5)
        rows.append({"window": window, "method": perplexity.NONE, "documents": 0, "nats": base})
        for count, saved in enumerate(gain, start=1):
            for method in (*perplexity.RIVALS, perplexity.OWN):
                own = saved * (method == perplexity.OWN)
                nats = base - own + source.gauss(0, 0.01)
                rows.append({"window": window, "method": method, "documents": count, "nats": nats})
    return rows


@pytest.mark.parametrize(
    ("gain", "verdict"), [((0.1, 0.2), True), ((0.1, -0.2), False), ((0.1, 0.1), None), ((0.0, 0.0), None)]
)
def test_figure_5_claims_only_what_separates(gain: tuple[float, float], verdict: bool | None) -> None:
    """A clear gain holds, a clear loss does not, and noise cannot be told."""
    judged = together([claim.holds for claim in perplexity.FIGURE.judge(measured(gain))])
    assert judged is verdict
    assert together([claim.holds for claim in perplexity.FIGURE.judge(measured(gain, windows=9))]) is None


def test_figure_5_summarises_windows_as_perplexity() -> None:
    """exp of the mean nats; the gain against no documents in nats."""
    rows = measured((0.1, 0.2))
    own = next(
        row for row in perplexity.FIGURE.summary(rows) if (row["method"], row["documents"]) == (perplexity.OWN, 2)
    )
    nats = [float(row["nats"] or 0) for row in rows if (row["method"], row["documents"]) == (perplexity.OWN, 2)]
    assert own["perplexity"] == pytest.approx(math.exp(fmean(nats)))
    assert own["gain_nats"] == pytest.approx(0.2, abs=0.02)


def test_the_library_finds_the_text_that_shares_words(corpus: Path) -> None:
    """The best chunk for a chunk is itself; never more than were asked for."""
    library = Library(corpus, 20)
    first = library.search(library.search("title", 1)[0] if library.search("title", 1) else "abdei", 3)
    assert len(first) <= 3
    for text in first:
        assert library.search(text, 1) == [text]


def test_plain_text_has_no_spaced_punctuation() -> None:
    """WikiText's joiners and spaces around punctuation are undone."""
    assert plain("a well @-@ known 1 @,@ 000 ( one ) , and so on .") == "a well-known 1,000 (one), and so on."
