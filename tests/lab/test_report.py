"""Laws of the benchmark report."""

import io
import json
import random
import socket
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from rich.console import Console

from hocket_lab.bench.answers import invented, real
from hocket_lab.bench.searching import retrieval
from hocket_lab.bench.speed import aggregation, kv
from hocket_lab.reporting import report
from hocket_lab.reporting.identity import identity, today
from hocket_lab.reporting.machine import describe
from hocket_lab.reporting.report import Report, bootstrap, percentile

COMMAND = "hocket bench link"


def test_rows_survive_an_interruption_when_settings_are_equal(tmp_path: Path) -> None:
    """A second run with the same settings finds the finished rows; other settings start empty."""
    path = tmp_path / "out" / "r.json"
    first = Report({"rtts": (0, 100)}, path, COMMAND)
    first.add({"system": "sync", "rtt_ms": 0, "ms": 1.5})
    again = Report({"rtts": (0, 100)}, path, COMMAND)
    assert again.find(system="sync", rtt_ms=0) == {"system": "sync", "rtt_ms": 0, "ms": 1.5}
    assert again.find(system="sync", rtt_ms=100) is None
    assert Report({"rtts": (0, 300)}, path, COMMAND).rows == []


@pytest.mark.parametrize("other", ["lab", "model"])
def test_rows_of_other_code_or_models_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    """They are figures of something else; the file says of what."""
    first = Report({}, tmp_path / "r.json", COMMAND)
    first.add({"ms": 1.5})
    monkeypatch.setattr(report, "identity", lambda *of: {**identity(*of), other: "another"})
    again = Report({}, tmp_path / "r.json", COMMAND)
    assert again.rows == []
    assert again.differs_from_file() == [other]


def test_rows_outlive_a_change_of_code_that_they_are_not_of(tmp_path: Path) -> None:
    """The file has the digests of the measured parts alone."""
    path = tmp_path / "r.json"
    Report({}, path, COMMAND).add({"ms": 1.5})
    assert json.loads(path.read_text())["identity"] == today().parts(COMMAND)


def test_a_model_in_a_folder_is_known_by_its_files(tmp_path: Path) -> None:
    """Another file there is another model; a bundled one is a part of the code."""
    (tmp_path / "config.json").write_text("{}")
    before = identity(COMMAND, {"model": str(tmp_path)})["model"]
    (tmp_path / "config.json").write_text("[]")
    assert identity(COMMAND, {"model": str(tmp_path)})["model"] != before
    assert "model" not in identity(COMMAND, {"model": "bundled"})


def test_the_dates_are_those_of_the_first_and_the_last_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To look at a file again changes neither, nor the command; to add a row changes the second."""
    path = tmp_path / "r.json"

    def at(day: str, command: str) -> Report:
        monkeypatch.setattr(report, "_now", lambda: day)
        return Report({}, path, command)

    def told() -> list[str]:
        return [json.loads(path.read_text())[name] for name in ("command", "begun", "last_added")]

    at("monday", COMMAND).add({"a": 1})
    at("tuesday", f"{COMMAND} again").finish()
    assert told() == [COMMAND, "monday", "monday"]
    at("wednesday", f"{COMMAND} again").add({"a": 2})
    assert told() == [COMMAND, "monday", "wednesday"]
    anew = at("thursday", f"{COMMAND} again")
    anew.rows.clear()
    anew.add({"a": 3})
    assert told()[1:] == ["thursday", "thursday"]


class Looked(Exception):
    """Settings are known; nothing is measured."""


def test_every_benchmark_of_texts_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other questions or documents are other settings; those of `invented` come with it."""
    words = tmp_path / "wikitext2"
    chats = tmp_path / "lihua_world"

    def settings() -> list[object]:
        def look(settings: dict[str, object], *_: object) -> None:
            found.append(settings["inputs"])
            raise Looked

        found: list[object] = []
        runs: tuple[tuple[ModuleType, Callable[[], object]], ...] = (
            (aggregation, lambda: aggregation.run(
                tmp_path, aggregation.Settings([0], ["sync"], [25.0], 1, 2, 0.0, 1, 1, 0), None)),
            (kv, lambda: kv.run(tmp_path, kv.Settings([4], 1, 1, 1), None)),
            (real, lambda: real.run(tmp_path, real.Settings(1, 1, 1, 1, 1, 0), None)),
            (retrieval, lambda: retrieval.run(tmp_path, retrieval.Settings(tmp_path / "store"), None)),
            (invented, lambda: invented.run(invented.Settings(4, 1, limit=1), None)),
        )  # fmt: skip
        for bench, run in runs:
            monkeypatch.setattr(bench, "Report", look)
            with pytest.raises(Looked):
                run()
        return found

    seen = []
    for number in range(2):
        for folder in (words, chats):
            folder.mkdir(exist_ok=True)
        for name in ("wiki.test.raw", "wiki.valid.raw", "wiki.train.tokens"):
            (words / name).write_text(f"{number} " * 300)
        (chats / "query_set.csv").write_text("Question,Type,Evidence\n")
        seen.append(settings())
    assert [one != other for one, other in zip(*seen, strict=True)] == [True] * 4 + [False]


def test_the_file_holds_everything_and_no_partial_file_stays(tmp_path: Path) -> None:
    """The JSON has the eight keys; claims keep their verdict, a miss too."""
    path = tmp_path / "r.json"
    report = Report({"seed": 1}, path, f"{COMMAND} --seed 1")
    report.add({"a": 1})
    report.claim("fast", "< 1", 2.0, holds=False)
    assert report.finish() is False
    content = json.loads(path.read_text())
    assert list(content) == [
        "command", "begun", "last_added", "machine", "identity", "settings", "rows", "claims",
    ]  # fmt: skip
    assert content["claims"] == [{"name": "fast", "target": "< 1", "measured": 2.0, "holds": False}]
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.json"]


def test_a_file_that_is_no_report_is_measured_anew(tmp_path: Path) -> None:
    """Half a file does not stop a run."""
    path = tmp_path / "r.json"
    path.write_text('{"rows": [')
    assert Report({}, path, COMMAND).rows == []


def test_a_claim_is_printed_with_its_verdict() -> None:
    """Both words appear, with the measured value and the target."""
    report = Report({}, None, "x")
    report.add({"name": "one", "ms": 1.23456, "none": None})
    report.claim("quick", "<= 3 ms", 2.5, holds=True)
    report.claim("small", "<= 1 MB", "2 MB", holds=False)
    out = io.StringIO()
    report.show(console=Console(file=out, width=80))
    assert "holds  quick: 2.5 (target <= 3 ms)" in out.getvalue()
    assert "misses small: 2 MB (target <= 1 MB)" in out.getvalue()
    assert "1.235" in out.getvalue()


def test_the_bootstrap_interval_covers_the_mean_about_95_times_in_100() -> None:
    """Over 200 seeded samples of 40 normals the true mean lies inside in 88 to 99 %."""
    source = random.Random(7)
    inside = 0
    for _ in range(200):
        low, high = bootstrap([source.gauss(5.0, 2.0) for _ in range(40)], resamples=400)
        inside += low <= 5.0 <= high
    assert 176 <= inside <= 198


def test_a_bootstrap_of_nothing_is_an_error() -> None:
    """No values, no interval."""
    with pytest.raises(ValueError, match="no values"):
        bootstrap([])


def test_percentiles_interpolate() -> None:
    """Ends and middle of a short list."""
    assert [percentile([4, 1, 3, 2], share) for share in (0, 0.5, 1)] == [1, 2.5, 4]


def test_the_machine_is_described_without_names_or_paths() -> None:
    """No host name and no slash in any fact but the processor's own name."""
    facts = describe()
    assert facts["cores"]
    assert socket.gethostname() not in json.dumps(facts)
    assert not any("/" in str(value) for key, value in facts.items() if key not in ("processor", "gpu"))


@pytest.mark.parametrize("places", [(0, 100), ("one", "two")])
def test_a_picture_is_written(tmp_path: Path, places: tuple[object, object]) -> None:
    """Numbers make lines, names make bars; both are a PNG."""
    report = Report({}, None, "x")
    for system in ("sync", "coupled"):
        for place in places:
            report.add({"system": system, "x": place, "ms": 2.0, "low": 1.0, "high": 3.0})  # type: ignore[dict-item]
    png = tmp_path / "p.png"
    report.plot(png, "x", "ms", "system", title="speed", interval=("low", "high"))
    assert png.read_bytes()[:4] == b"\x89PNG"
