"""Laws of the benchmark report."""

import io
import json
import random
import socket
from pathlib import Path

import pytest
from rich.console import Console

from hocket_tools.bench.machine import describe
from hocket_tools.bench.report import Report, bootstrap, percentile


def test_rows_survive_an_interruption_when_settings_are_equal(tmp_path: Path) -> None:
    """A second run with the same settings finds the finished rows; other settings start empty."""
    path = tmp_path / "out" / "r.json"
    first = Report({"rtts": (0, 100)}, path, "hocket bench x")
    first.add({"system": "sync", "rtt_ms": 0, "ms": 1.5})
    again = Report({"rtts": (0, 100)}, path, "hocket bench x")
    assert again.find(system="sync", rtt_ms=0) == {"system": "sync", "rtt_ms": 0, "ms": 1.5}
    assert again.find(system="sync", rtt_ms=100) is None
    assert Report({"rtts": (0, 300)}, path, "hocket bench x").rows == []


def test_the_file_holds_everything_and_no_partial_file_stays(tmp_path: Path) -> None:
    """The JSON has the six keys; claims keep their verdict, a miss too."""
    path = tmp_path / "r.json"
    report = Report({"seed": 1}, path, "hocket bench x --seed 1")
    report.add({"a": 1})
    report.claim("fast", "< 1", 2.0, holds=False)
    assert report.finish() is False
    content = json.loads(path.read_text())
    assert list(content) == ["command", "date", "machine", "settings", "rows", "claims"]
    assert content["claims"] == [{"name": "fast", "target": "< 1", "measured": 2.0, "holds": False}]
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.json"]


def test_a_file_that_is_no_report_is_measured_anew(tmp_path: Path) -> None:
    """Half a file does not stop a run."""
    path = tmp_path / "r.json"
    path.write_text('{"rows": [')
    assert Report({}, path, "x").rows == []


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
