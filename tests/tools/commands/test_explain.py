"""Laws of `hocket explain`: it shows a record as it was kept, finds it by its number, and errs in one line."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hocket_daemon.serving.records import decisions
from hocket_daemon.serving.records.decisions import Decisions
from hocket_tools.main import run

LED = {
    "question": "Who \x1b[31msang [bold]first[/x]?\nAnd last?",
    "ended": "eos",
    "tokens": 12,
    "asked for": "coupled",
    "drawing": {"temperature": 0.7, "top_p": 0.9, "seed": 5},
    "method": "coupled",
    "accepted": {"device": 0.123456, "cloud": None},
    "links": [
        {"t_s": 0.0, "what": "asked to take part"},
        {"t_s": 1.5, "what": "the cloud fell silent; answering alone"},
    ],
    "cloud": None,
    "log_h": -1.0,
    "passages": [
        {"document": "birds.txt", "number": 3, "score": 0.75, "weight": 0.6},
        {"document": "fish[/b].txt", "number": 0, "score": 0.5, "weight": 0.4},
    ],
}
FOLLOWED = {"ended": "busy", "tokens": 0, "passages": []}


class Calendar:
    """In the place of `datetime`: the hours of one day."""

    def __init__(self) -> None:
        self.hour = 0

    def now(self, zone: object) -> datetime:
        self.hour += 1
        return datetime(2030, 1, 2, self.hour, tzinfo=UTC)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pair whose device has three records, of 3f2a…, 3f2b… and 90…, and whose cloud has one."""
    monkeypatch.setattr(decisions, "datetime", Calendar())
    monkeypatch.setenv("COLUMNS", "120")
    for side in ("device", "cloud"):
        (tmp_path / f"{side}.toml").write_text(f'decisions = "{tmp_path}/{side}.db"\n')
    keep(tmp_path, "device", ("3f2a", LED), ("3f2b", LED | {"question": "And then?"}), ("90", LED | {"tokens": 7}))
    keep(tmp_path, "cloud", ("c1", FOLLOWED))
    return tmp_path


def keep(home: Path, side: str, *records: tuple[str, dict[str, Any]]) -> None:
    kept = Decisions(home / f"{side}.db")
    for number, record in records:
        kept.keep(bytes.fromhex(number.ljust(32, "0")), "aggregation", lambda record=record: record)  # type: ignore[misc]
    kept.close()


@pytest.fixture
def said(home: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """What `hocket explain` says and how it ends."""

    def told(*words: str) -> tuple[int, str, str]:
        status = run(["explain", "--home", str(home), *words])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return told


def test_an_answer_is_explained(said: Any) -> None:
    """Question, method, every passage with its weight and every event of the link; nothing is taken for a style."""
    status, out, _ = said("3f2a")
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == "3f2a0000  2030-01-02 01:00:00  aggregation"
    assert "\x1b" not in out
    assert re.search(r"question +Who .*sang \[bold\]first\[/x\]\?", out)
    assert re.search(r"drawing +temperature 0\.7, top_p 0\.9, seed 5\n", out)
    assert re.search(r"method +coupled\n", out)
    assert re.search(r"accepted +device 0\.1235, cloud –\n", out)
    assert re.search(r"cloud +–\n", out)
    assert re.search(r"log_h +-1\n", out)
    assert re.search(
        r"passages\ndocument +number +score +weight *\nbirds\.txt +3 +0\.75 +0\.6 *\nfish\[/b\]\.txt +0 +0\.5 +0\.4",
        out,
    )
    assert re.search(r"links\nt_s +what *\n0 +asked to take part *\n1\.5 +the cloud fell silent; answering alone", out)


def test_without_a_number_it_is_the_latest(said: Any) -> None:
    """Of the side that is asked for."""
    assert said()[1].startswith("90000000  2030-01-02 03:00:00")
    status, out, _ = said("--side", "cloud")
    assert (status, out.splitlines()[0]) == (0, "c1000000  2030-01-02 04:00:00  aggregation")
    assert re.search(r"passages +–", out)


def test_programs_get_the_record_as_it_was_kept(said: Any) -> None:
    """One object, or a list of them."""
    found = json.loads(said("3F2A", "--json")[1])
    assert found["record"] == LED
    assert (found["id"], found["mode"]) == ("3f2a".ljust(32, "0"), "aggregation")
    listed = json.loads(said("--list", "--json")[1])
    assert [each["id"][:4] for each in listed] == ["9000", "3f2b", "3f2a"]
    assert listed[2] == found


def test_the_list_has_a_line_for_each_the_latest_first(said: Any) -> None:
    """With number, time, end, tokens and the question as people can read it."""
    status, out, _ = said("--list")
    assert status == 0
    head, *lines = out.splitlines()
    assert head.split() == ["ID", "at", "mode", "ended", "tokens", "asked", "by", "question"]
    assert [line.split()[0] for line in lines] == ["90000000", "3f2b0000", "3f2a0000"]
    assert re.search(r"2030-01-02 02:00:00 +aggregation +eos +12 +And then\?", lines[1])
    assert "\x1b" not in out
    assert "[bold]first[/x]? And last?" in lines[2]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["77"], "no request '77' is recorded: see the latest: hocket explain --list"),
        (["3f2"], "several requests begin with '3f2': give more digits of its number"),
    ],
)
def test_a_number_that_is_not_one_records(said: Any, words: list[str], line: str) -> None:
    """One line, which says what to do."""
    status, out, err = said(*words)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert line in err


def test_where_there_is_no_record(said: Any, home: Path) -> None:
    """Nothing asked yet, nothing configured, no device here, a file that is none, and one without records."""
    (home / "device.db").unlink()
    status, _, err = said()
    assert (status, err.count("\n")) == (69, 1)
    assert f"nothing is recorded in {home}/device.db: ask something first" in err
    (home / "device.db").write_bytes(b"this is no database, but long enough for one" * 50)
    status, _, err = said("--list")
    assert (status, err.count("\n")) == (69, 1)
    assert "move it away; the daemon starts a new one" in err
    (home / "device.toml").write_text('decisions = ""\n')
    status, _, err = said()
    assert (status, err.count("\n")) == (78, 1)
    assert "add a line: decisions" in err
    (home / "device.toml").unlink()
    assert "this machine is a cloud alone" in said()[2]
    (home / "device.toml").write_text(f'decisions = "{home}/empty.db"\n')
    Decisions(home / "empty.db", 0).close()
    assert said()[0] == 69


def test_a_file_whose_records_are_all_gone(said: Any, home: Path) -> None:
    """It says so, in a list, too."""
    (home / "device.toml").write_text(f'decisions = "{home}/empty.db"\n')
    kept = Decisions(home / "empty.db", 0)
    kept.keep(bytes(16), "aggregation", dict)
    kept.close()
    assert said()[:2] == (0, f"nothing is recorded in {home}/empty.db\n")
    assert json.loads(said("--list", "--json")[1]) == []
    assert json.loads(said("--json")[1]) is None
