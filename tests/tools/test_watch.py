"""A watched folder: whatever is done to it, the side ends up with what a fresh ingestion of it would have."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hocket_bus.errors import Unavailable
from hocket_bus.messages import Ingested
from hocket_tools.commands import watch as watching
from hocket_tools.main import run
from hocket_tools.pair import processes
from hocket_tools.pair.home import Home
from hocket_tools.pair.temporary import temporary_home
from waiting import until

OPERATIONS = 50


@pytest.fixture
def home() -> Iterator[Home]:
    """The retrieval daemon of a device, and nothing else."""
    with temporary_home() as made:
        made.prepare()
        processes.start(made, "device-retrieval")
        yield made


def listed(home: Home, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Each document, and the first words of what the side has of it."""
    capsys.readouterr()
    where = ["--side", "device", "--home", str(home.at)]
    if run(["documents", *where, "--json"]) != 0:
        return {}
    names = [document["name"] for document in json.loads(capsys.readouterr().out)["documents"]]
    texts = {}
    for name in names:
        assert run(["search", *where, "--json", "-n", "64", Path(name).stem]) == 0
        passages = json.loads(capsys.readouterr().out)["passages"]
        texts[name] = next((each["text"] for each in passages if each["document"] == name), "")
    return texts


def kill(home: Home) -> None:
    """End the retrieval daemon as a power cut does."""
    pid = processes.running(home, "device-retrieval")
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: processes.exit_status(pid) is not None or processes.running(home, "device-retrieval") is None)


def do(folder: Path, rng: random.Random, number: int) -> None:
    """Something that people and their editors do to a folder."""
    files, folders = sorted(folder.rglob("*.md")), sorted(place for place in folder.rglob("*") if place.is_dir())
    kind = rng.choice(["create", "edit", "rename", "delete", "beside", "folder", "move"])
    place = rng.choice([folder, *folders])
    new = place / f"note{number}.md"
    if kind == "create" or not files:
        new.write_text(f"Words of note{number}.")
    elif kind == "edit":
        rng.choice(files).write_text(f"Words number {number}.")
    elif kind == "rename":
        rng.choice(files).rename(new)
    elif kind == "delete":
        rng.choice(files).unlink()
    elif kind == "beside":  # as editors write: beside it, and then in its place
        file = rng.choice(files)
        partial = file.with_name(f".{file.name}.tmp")
        partial.write_text(f"Words number {number}.")
        partial.replace(file)
    elif kind == "folder":
        (place / f"part{number}").mkdir()
    elif folders:
        moved = rng.choice(folders)
        if number % 3:
            moved.rename(moved.with_name(f"moved{number}"))
        else:
            shutil.rmtree(moved)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 20))])
def test_a_watched_folder_is_had_as_it_is(
    home: Home, tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also when the daemon is killed in between, and the watcher started anew."""
    rng, folder = random.Random(seed), tmp_path / "notes"
    folder.mkdir()
    folder = folder.resolve()
    (folder / "first.md").write_text("Words of first.")
    options = ["--side", "device", "--home", str(home.at)]
    command = [sys.executable, "-m", "hocket_tools.main", "watch", *options, str(folder)]
    with (tmp_path / "said").open("w") as said:
        watcher = subprocess.Popen(command, stdout=said, stderr=said)
        try:
            for number in range(OPERATIONS):
                do(folder, rng, number)
                if number == OPERATIONS // 3:
                    kill(home)
                    processes.start(home, "device-retrieval")
                if number == 2 * OPERATIONS // 3:
                    watcher.send_signal(signal.SIGINT)
                    watcher.wait(60)
                    watcher = subprocess.Popen(command, stdout=said, stderr=said)
            wanted = {str(file): file.read_text() for file in folder.rglob("*.md") if file.read_text()}
            until(lambda: listed(home, capsys) == wanted, every_s=0.5, said=(tmp_path / "said").read_text)
        finally:
            watcher.send_signal(signal.SIGINT)
            assert watcher.wait(60) == 130


def test_a_daemon_that_is_away_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Told once, however long it takes."""

    from hocket_bus.messages import Ingested

    monkeypatch.setattr(watching, "RETRY_S", 0.0)
    tries = []
    done = Ingested(
        request=bytes(16), added=1, unchanged=0, replaced=0, skipped=0, chunks=1, embedded=1, seconds=0.1, embedding_s=0
    )

    def read_all() -> Ingested:
        tries.append(1)
        if len(tries) < 4:
            raise Unavailable("no daemon answers", "start it")
        return done

    assert watching._until_read(read_all) is done
    assert capsys.readouterr().err.count("waiting for it") == 1
