"""Laws of docs/results.md: it says what the files in docs/results say, misses included, on one short page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hocket_bus.errors import BadConfiguration
from hocket_tools.bench.report import Report
from hocket_tools.bench.results import FOLDER, PAGE, Record, page, read

ROOT = Path(__file__).resolve().parents[2]
MAX_LINES = 185
RECORD: dict[str, Any] = {
    "claim": "a draft is small",
    "target": "< 100",
    "value": "94",
    "date": "2026-11-22",
    "command": "hocket bench wire",
    "machine": "two cores",
    "verdict": "holds",
}


def written(folder: Path, *records: dict[str, Any]) -> Path:
    """The folder, with one file of these records in it."""
    (folder / "wire.json").write_text(json.dumps(records), encoding="utf-8")
    return folder


def test_the_page_is_what_the_files_say() -> None:
    """After a change of a file: python -m hocket_tools.bench.results."""
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    assert text == page(read(ROOT / FOLDER))
    assert len(text.splitlines()) <= MAX_LINES


def test_a_miss_is_shown_as_one(tmp_path: Path) -> None:
    """So is a claim that was not measured since, with its date, and the counts say how many of each there are."""
    missed, stale = RECORD | {"verdict": "missed", "note": "slow hour"}, RECORD | {"verdict": "not measured since"}
    made = page(read(written(tmp_path, RECORD, missed, stale)))
    assert "Of 3 claims 1 hold, 1 are missed, 1 were not measured since" in made
    assert "| 94; slow hour | 2026-11-22 | `hocket bench wire` | **missed** |" in made
    assert "| not measured since 2026-11-22 |" in made


@pytest.mark.parametrize("name", RECORD)
def test_a_record_without_a_field_is_refused_with_one_line(tmp_path: Path, name: str) -> None:
    """The line names the file and the field."""
    lacking = {key: value for key, value in RECORD.items() if key != name}
    with pytest.raises(BadConfiguration) as caught:
        read(written(tmp_path, RECORD, lacking))
    assert "wire.json" in str(caught.value)
    assert f"`{name}`" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wrong", [{"verdict": "nearly"}, {"date": "yesterday"}, {"value": ""}, {"colour": "red"}])
def test_a_record_with_a_wrong_value_is_refused(tmp_path: Path, wrong: dict[str, str]) -> None:
    """An unknown verdict, another form of date, an empty value, a field that is none."""
    with pytest.raises(BadConfiguration):
        read(written(tmp_path, RECORD | wrong))


def test_the_claims_of_a_benchmark_s_report_are_records(tmp_path: Path) -> None:
    """A report in the folder is read as it was written; None is a claim that cannot be told."""
    report = Report({"draws": 2}, tmp_path / "wire.json", "hocket bench wire --json wire.json")
    report.claim("bytes", "< 100", 94.04321, True)
    report.claim("codec", "<= 200", 217.0, False)
    report.claim("on a GPU", "<= 1.5", "no GPU was present", None)
    report.write()
    (bytes_, codec, gpu) = read(tmp_path)["wire"]
    assert isinstance(bytes_, Record)
    assert (bytes_.value, bytes_.command) == ("94.04", "hocket bench wire")
    assert [bytes_.verdict, codec.verdict, gpu.verdict] == ["holds", "missed", "cannot be told"]
    assert bytes_.machine == codec.machine


def test_a_bar_in_a_claim_does_not_end_its_cell(tmp_path: Path) -> None:
    """Otherwise one would move all columns behind it."""
    made = page(read(written(tmp_path, RECORD | {"claim": "|p − m| / m"})))
    assert r"| wire | \|p − m\| / m | < 100 |" in made
