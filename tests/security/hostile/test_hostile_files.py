"""Files made to harm who reads them are read or refused, those beside them are read, and none is met again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import hostile
import pytest

from hocket_retrieval.collection import Collection
from hocket_retrieval.ingestion.job import Job
from processes import with_helpers
from toys import ToyEmbedder

GOOD = {f"good {n}.txt": f"The good note number {n}." for n in range(5)}
EMPTY = ["empty.txt"]
READ = {"encoding.html", "font.pdf", "laughs.html", "number.pdf", "no-space.txt", "line\nbreak.txt", "escape\x1b[2J.md"}


def prepared(folder: Path, *kinds) -> list[str]:
    folder.mkdir()
    names = hostile.make(folder, *kinds)
    for name, text in GOOD.items():
        (folder / name).write_text(text)
    return names


def test_hostile_files_are_read_or_refused_and_the_others_are_read(tmp_path):
    """Each in one line, and empty ones in one; none is in the queue afterwards, and a start has nothing to do."""
    names = prepared(tmp_path / "files", hostile.FAST)
    with Collection(tmp_path / "state", ToyEmbedder(dimension=8)) as collection:
        report = collection.ingest([tmp_path / "files"])
        stored = {Path(document.name).name for document in collection.documents()}
        assert stored == READ | set(GOOD)
        assert len(report.errors) == len(names) - len(READ) - len(EMPTY)
        assert report.notices == [f"{len(EMPTY)} empty file(s) skipped ({', '.join(EMPTY)})"]
        assert all(line.isprintable() for _, line in report.errors)
        assert all(document.title.isprintable() for document in collection.documents())
        assert collection.search("3", 1).passages[0].text == GOOD["good 3.txt"]
    with Collection(tmp_path / "state", ToyEmbedder(dimension=8)) as again:
        assert again.status().queued == 0
        report = again.resume()
        assert (report.added, report.errors) == (0, [])


@pytest.mark.long
def test_each_hostile_file_takes_less_than_20_s_and_1_gb(tmp_path):
    """All of them, one by one, and the good ones behind them; processes in the sandbox are counted, too."""
    names = prepared(tmp_path / "files", hostile.FAST, hostile.SLOW)
    assert len(names) >= 30
    program = Path(__file__).parents[1] / "read_hostile.py"
    readable = [name for name in names if name.isascii() or name.isprintable()]
    paths = [str(tmp_path / "files" / name) for name in (*readable, *GOOD)]
    done = subprocess.run(
        [sys.executable, program, tmp_path / "state", *paths],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=with_helpers(),
    )
    said = json.loads(done.stdout[done.stdout.index('{"files"') :])
    for path, outcome in said["files"].items():
        assert outcome["read"] + len(outcome["lines"]) == 1, path
        assert outcome["seconds"] < 20, (path, outcome)
    assert all(said["files"][str(tmp_path / "files" / name)]["read"] for name in GOOD)
    assert max(said["memory"]) < 1 << 30
    assert said["left"] == 0


def test_a_link_leads_no_further_than_its_folder(tmp_path):
    """Neither when it is found nor when it takes the place of a file that was found; inside, it is followed."""
    (tmp_path / "files").mkdir()
    (tmp_path / "elsewhere.txt").write_text("The secret.")
    (tmp_path / "files" / "a.txt").write_text("An open word.")
    (tmp_path / "files" / "inside.txt").symlink_to("a.txt")
    (tmp_path / "files" / "out.txt").symlink_to(tmp_path / "elsewhere.txt")
    swapped = tmp_path / "files" / "swapped.txt"
    swapped.write_text("Harmless.")

    def swap(progress):
        if not swapped.is_symlink():
            swapped.unlink()
            swapped.symlink_to(tmp_path / "elsewhere.txt")

    with Collection(tmp_path / "state", ToyEmbedder()) as collection:
        report = collection.ingest([tmp_path / "files"], swap)
        assert [Path(document.name).name for document in collection.documents()] == ["a.txt", "inside.txt"]
        assert sorted(Path(name).name for name, _ in report.errors) == ["out.txt", "swapped.txt"]
        assert all("link out of the folder" in line for _, line in report.errors)
        assert collection.ingest([tmp_path / "files" / "out.txt"]).added == 1  # named itself


def test_a_file_at_which_two_processes_died_is_read_no_more(tmp_path):
    """The first time it is tried again, alone; the second time it is dropped with a line; asked for anew, read."""
    file = tmp_path / "a.txt"
    file.write_text("The old mill.")
    for deaths in (1, 2):
        with Collection(tmp_path / f"state {deaths}", ToyEmbedder()) as collection:
            collection.accept([file], Job())
            for _ in range(deaths):
                collection._waiting.attempt(str(file))
    for deaths, outcome in ((1, 1), (2, 0)):
        with Collection(tmp_path / f"state {deaths}", ToyEmbedder()) as collection:
            report = collection.resume()
            assert (report.added, len(report.errors), collection.status().queued) == (outcome, 1 - outcome, 0)
            assert outcome or "ended 2 times while reading it" in report.errors[0][1]
            assert collection.ingest([file]).added == 1 - outcome
