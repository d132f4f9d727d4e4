"""A benchmark without its corpora says what it misses, before it measures anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from hocket_bus.errors import BadRequest
from hocket_lab.data_folder import require
from hocket_tools.main import run


@pytest.mark.parametrize(
    "bench",
    ["aggregation", "answers", "dispatch", "graph", "kv", "migration", "race", "real", "retrieval", "typing"],
)
def test_a_benchmark_without_its_corpora_is_one_line(
    bench: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which file, where it was looked for, and the option that names the folder."""
    assert run(["bench", bench, "--data", str(tmp_path)]) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith("hocket: no ")
    assert told.endswith(f" under {tmp_path}: name the folder of the corpora with --data")


def test_the_first_file_that_is_missing_is_named(tmp_path: Path) -> None:
    """A folder of that name is none."""
    (tmp_path / "a.txt").touch()
    (tmp_path / "b.txt").mkdir()
    require(tmp_path, "a.txt")
    require(tmp_path)
    with pytest.raises(BadRequest, match=r"no b\.txt under"):
        require(tmp_path, "a.txt", Path("b.txt"), "c.txt")


def test_a_step_time_is_said_of_both_sides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One number is a usage error."""
    assert run(["bench", "migration", "--part", "moves", "--hold", "1", "--data", str(tmp_path)]) == 2
    assert "give the device's and the cloud's" in capsys.readouterr().err
