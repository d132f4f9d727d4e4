"""Laws of lab/docs/results.md: it says what the files beside it say, misses and changes of the code included."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hocket_bus.errors import BadConfiguration
from hocket_lab.bench.results.command import FOLDER, PAGE, SYSTEMS, made
from hocket_lab.bench.results.page import page
from hocket_lab.bench.results.records import CELL, Record, read
from hocket_lab.bench.results.systems import Bar, Headline, System, read_systems
from hocket_lab.reporting.identity import ROOTS, Code, today
from hocket_lab.reporting.measured import Modules
from hocket_lab.reporting.report import Report

ROOT = Path(__file__).resolve().parents[2]
NOW = cache(today().parts)
SAMPLER = "hocket_daemon.aggregation.exchange.sampler"
RECORD: dict[str, Any] = {
    "claim": "a draft is small",
    "target": "< 100",
    "value": "94",
    "date": "2026-11-22",
    "command": "hocket bench link",
    "machine": "two cores",
    "verdict": "holds",
    "code": NOW("hocket bench link"),
}


def written(folder: Path, *records: dict[str, Any]) -> Path:
    """The folder, with one file of these records in it."""
    (folder / "wire.json").write_text(json.dumps(records), encoding="utf-8")
    return folder


def one_system(claim: str = "a draft is small", says: str = "{value} bytes") -> System:
    """All of it about one claim."""
    headlines = [Headline("wire", claim, says=says)] * 3
    return System("Wire", "wire.svg", "bytes", ["wire"], headlines, [Bar("wire", claim, number="n", label="a")] * 2)


def page_of(folder: Path) -> str:
    """The page of the one file in `folder`."""
    return page(read(folder), [one_system()], NOW)


def rows(text: str) -> Iterator[list[str]]:
    """The cells of each line of a table that is no head of one."""
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| ---"):
            yield [cell.strip() for cell in line.strip("|").replace("\\|", "/").split(" | ")]


@cache
def made_here() -> dict[Path, str]:
    """The page and its pictures, as the files and the code of this checkout make them."""
    return dict(made(ROOT))


def test_the_page_and_its_pictures_are_what_the_files_and_the_code_say() -> None:
    """After a change of either: hocket bench results."""
    for place, text in made_here().items():
        assert (ROOT / place).read_text(encoding="utf-8") == text, f"{place} is stale: run hocket bench results"


def test_each_cell_of_the_page_is_short() -> None:
    """At most 60 characters, and nothing had to be cut."""
    cells = [cell for row in rows(made_here()[PAGE]) for cell in row]
    assert [cell for cell in cells if len(cell) > CELL or "…" in cell] == []


def test_every_claim_stands_once_and_misses_first() -> None:
    """Of each system, missed before what cannot be told before what holds."""
    areas = read(ROOT / FOLDER)
    sections = made_here()[PAGE].partition("# Every claim")[2].split("\n## ")[1:]
    told = [[row[3].strip("*") for row in rows(section) if row[0] != "claim"] for section in sections]
    assert sum(map(len, told)) == sum(map(len, areas.values()))
    for verdicts in told:
        assert verdicts == sorted(verdicts, key=["missed", "cannot be told", "holds"].index)


def test_one_line_of_the_sampler_changes_what_every_line_that_measures_it_says(tmp_path: Path) -> None:
    """And no other line: in a scratch copy, with records of the code as it was before."""
    areas = {area: [fresh(record) for record in records] for area, records in read(ROOT / FOLDER).items()}
    systems = read_systems(ROOT / FOLDER / SYSTEMS, areas)
    assert set(since(page(areas, systems, NOW)).values()) == {"no"}

    changed = dict(ROOTS) | {"daemon": with_another_sampler(tmp_path / "hocket_daemon")}
    says = since(page(areas, systems, cache(Code(changed).parts)))
    modules = Modules(ROOTS)
    measuring = {
        (record.claim.replace("|", "/"), link(area))
        for area, records in areas.items()
        for record in records
        if SAMPLER in modules.reached(record.command)
    }
    assert {line for line, parts in says.items() if parts == "daemon"} == measuring
    assert {says[line] for line in says.keys() - measuring} == {"no"}
    assert len(measuring) > 50


def fresh(record: Record) -> Record:
    """The same claim, as if it had been measured just now."""
    return msgspec.structs.replace(record, code=NOW(record.command))


def with_another_sampler(folder: Path) -> Path:
    """A copy of the daemon's package with another line in its sampler."""
    shutil.copytree(ROOTS["daemon"], folder, ignore=shutil.ignore_patterns("__pycache__"))
    sampler = folder / "aggregation" / "exchange" / "sampler.py"
    sampler.write_text(sampler.read_text(encoding="utf-8").replace("return ", "return not ", 1), encoding="utf-8")
    return folder


def since(text: str) -> dict[tuple[str, str], str]:
    """What each claim says has changed since, by the claim and its file."""
    return {(row[0], row[-1]): row[-2] for row in rows(text) if row[-1].startswith("[")}


def link(area: str) -> str:
    """How the page names a file."""
    return f"[{area}](results/{area}.json)"


def test_a_part_without_a_digest_counts_as_changed(tmp_path: Path) -> None:
    """Nobody can say that it is the same."""
    lacking = {part: found for part, found in RECORD["code"].items() if part != "lab"}
    assert "| lab | [wire]" in page_of(written(tmp_path, RECORD | {"code": lacking}))
    assert "| no | [wire]" in page_of(written(tmp_path, RECORD))


def test_a_miss_is_shown_as_one(tmp_path: Path) -> None:
    """First, and the counts say how many of each there are."""
    missed, stale = RECORD | {"verdict": "missed"}, RECORD | {"code": {}}
    text = page_of(written(tmp_path, RECORD, stale, missed))
    assert "Of 3 claims 2 hold, 1 are missed, and 0 cannot be told here. The code of 1 has changed since." in text
    assert [row[3] for row in rows(text) if row[-1].startswith("[")] == ["**missed**", "holds", "holds"]


@pytest.mark.parametrize("name", RECORD)
def test_a_record_without_a_field_is_refused_with_one_line(tmp_path: Path, name: str) -> None:
    """The line names the file and the field."""
    lacking = {key: value for key, value in RECORD.items() if key != name}
    with pytest.raises(BadConfiguration) as caught:
        read(written(tmp_path, RECORD, lacking))
    assert "wire.json" in str(caught.value)
    assert f"`{name}`" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"verdict": "nearly"}, {"verdict": "not measured since"}, {"date": "yesterday"}, {"value": ""},
        {"colour": "red"}, {"claim": "x" * (CELL + 1)},
    ],
)  # fmt: skip
def test_a_record_with_a_wrong_value_is_refused(tmp_path: Path, wrong: dict[str, str]) -> None:
    """A verdict that none is, or that is computed; another form of date; an empty, a long or an unknown field."""
    with pytest.raises(BadConfiguration):
        read(written(tmp_path, RECORD | wrong))


def test_the_claims_of_a_benchmark_s_report_are_records(tmp_path: Path) -> None:
    """A report in the folder is read as it was written, with the digests of this code; None cannot be told."""
    report = Report({"draws": 2}, tmp_path / "wire.json", "hocket bench link --json wire.json")
    report.claim("bytes", "< 100", 94.04321, True)
    report.claim("codec", "<= 200", 217.0, False)
    report.claim("on a GPU " * 10, "<= 1.5", "no GPU was present", None)
    report.write()
    (bytes_, codec, gpu) = read(tmp_path)["wire"]
    assert isinstance(bytes_, Record)
    assert (bytes_.value, bytes_.command) == ("94.04", "hocket bench link")
    assert [bytes_.verdict, codec.verdict, gpu.verdict] == ["holds", "missed", "cannot be told"]
    assert bytes_.machine == codec.machine
    assert len(gpu.claim) == CELL
    assert bytes_.changed(NOW) == []


def test_a_bar_in_a_claim_does_not_end_its_cell(tmp_path: Path) -> None:
    """Otherwise one would move all columns behind it."""
    areas = read(written(tmp_path, RECORD | {"claim": "|p − m| / m"}))
    assert r"| \|p − m\| / m | < 100 |" in page(areas, [one_system("|p − m| / m")], NOW)


@pytest.mark.parametrize("says", ["{speed} bytes", "{claim}"])
def test_a_headline_of_a_number_that_no_record_has_is_refused(tmp_path: Path, says: str) -> None:
    """Otherwise a sentence could tell what nobody measured."""
    with pytest.raises(BadConfiguration):
        page(read(written(tmp_path, RECORD)), [one_system(says=says)], NOW)


def test_a_file_of_records_stands_in_one_system(tmp_path: Path) -> None:
    """One that stands in none would be left off the page."""
    areas = read(ROOT / FOLDER)
    with pytest.raises(BadConfiguration, match="new must stand in one system"):
        read_systems(ROOT / FOLDER / SYSTEMS, {**areas, "new": []})
