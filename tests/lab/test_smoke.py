"""Laws of `hocket bench smoke`: what counts as having run, what is skipped, and that no headline is left out."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import typer

from hocket_lab.bench.figures.frame import find, settings_of
from hocket_lab.bench.results.command import FOLDER, SYSTEMS
from hocket_lab.bench.results.records import read
from hocket_lab.bench.results.systems import read_systems
from hocket_lab.bench.service import smoke
from hocket_lab.bench.service.smoke import TRIALS, Ran, Trial, run, summary
from hocket_lab.commands import bench

ROOT = Path(__file__).resolve().parents[2]
HOLDS, MISSES = {"name": "a", "holds": True}, {"name": "b", "holds": False}


def ran(monkeypatch: pytest.MonkeyPatch, program: str, *claims: dict[str, object]) -> Ran:
    """How a trial goes whose process writes a report of these claims and then runs `program`."""

    def words(_trial: Trial, _data: Path, folder: Path) -> Iterator[str]:
        (folder / "report.json").write_text(json.dumps({"claims": claims}))
        yield from (sys.executable, "-c", program)

    monkeypatch.setattr(smoke, "_words", words)
    (one,) = run(Path(), [Trial("wire")], lambda _: None)
    return one


def test_a_benchmark_that_comes_to_its_claims_has_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where one misses, which is no result here."""
    one = ran(monkeypatch, "", HOLDS)
    assert (one.outcome, one.claims, one.missed) == ("ran", 1, 0)
    one = ran(monkeypatch, "import sys; sys.exit(1)", HOLDS, MISSES)
    assert (one.outcome, one.claims, one.missed) == ("ran", 2, 1)


@pytest.mark.parametrize(
    ("program", "claims"),
    [("raise ValueError('broken')", ()), ("import sys; sys.exit('broken')", (HOLDS,)),
     ("import sys; print('broken', file=sys.stderr); sys.exit(2)", (MISSES,))],
)  # fmt: skip
def test_one_that_does_not_has_failed(
    monkeypatch: pytest.MonkeyPatch, program: str, claims: Sequence[dict[str, object]]
) -> None:
    """A fault without a claim, one with claims that hold, and a refusal; its last line says why."""
    one = ran(monkeypatch, program, *claims)
    assert one.outcome == "failed"
    assert one.why.endswith("broken")


def test_one_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by Ctrl-C first, so that its daemons end."""
    monkeypatch.setattr(smoke, "DEADLINE_S", 0.2)
    one = ran(monkeypatch, "import threading; threading.Event().wait()")
    assert one.outcome == "failed"
    assert one.why == "takes more than 0.2 s"


def test_one_without_its_corpora_is_skipped_with_the_reason(tmp_path: Path) -> None:
    """In a clone that has none, that is no failure."""
    (one,) = run(tmp_path, [Trial("wire", ("squad",))], lambda _: None)
    assert (one.outcome, one.why) == ("skipped", f"no squad under {tmp_path}")


def test_each_headline_s_benchmark_is_tried() -> None:
    """Those that are not of a test."""
    areas = read(ROOT / FOLDER)
    headlines = [one for system in read_systems(ROOT / FOLDER / SYSTEMS, areas) for one in system.headlines]
    commands = {headline.find(areas).command for headline in headlines}
    names = {Trial(command.removeprefix("hocket bench ")).name for command in commands if "hocket bench" in command}
    assert names <= {trial.name for trial in TRIALS}


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.name)
def test_the_options_of_each_are_its_benchmark_s(trial: Trial, tmp_path: Path) -> None:
    """Otherwise it would fail for what it is told."""
    name, *options = shlex.split(trial.command.format(folder=tmp_path))
    if name == "figure":
        number, *changes = options
        settings_of(find(int(number)), [change for change in changes if change != "--set"])
        return
    group = typer.main.get_command(bench.app)
    assert isinstance(group, typer.core.TyperGroup)
    command = group.commands[name]
    command.make_context(name, options, parent=None)


def test_the_summary_is_json() -> None:
    """With the outcome and the time of each, and how many failed."""
    told = json.loads(summary([Ran("wire", "ran", 1.5, 2, 1), Ran("link", "failed", 0.2, why="broken")], 1.75))
    assert (told["seconds"], told["failed"]) == (1.8, 1)
    assert told["benchmarks"][0] == {
        "name": "wire", "outcome": "ran", "seconds": 1.5, "claims": 2, "missed": 1, "why": "",
    }  # fmt: skip
