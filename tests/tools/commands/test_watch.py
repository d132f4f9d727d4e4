"""A watched folder: whatever is done to it, the side ends up with what a fresh ingestion of it would have."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TextIO

import pytest

from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.messages import (
    Document,
    Documents,
    DocumentText,
    Ingested,
    ListDocuments,
    Passage,
    Passages,
    Search,
    ShowDocument,
)
from hocket_tools.caller import Caller, paged
from hocket_tools.commands.library import watch as watching
from hocket_tools.pair import processes
from hocket_tools.pair.home import Home
from hocket_tools.pair.temporary import temporary_home
from waiting import until

OPERATIONS, MANY = 50, 1_000
BURST = 50  # operations between two looks at what has been read by then


@pytest.fixture
def home() -> Iterator[Home]:
    """The retrieval daemon of a device, and nothing else."""
    with temporary_home() as made:
        made.prepare()
        processes.start(made, "device-retrieval")
        yield made


def listed(home: Home) -> dict[str, str]:
    """Each document, and what the side has of its text; nothing while it does not answer."""
    try:
        with Caller(home.listening("device-retrieval")) as caller:
            names = [document.name for document in paged(partial(page, caller))]
            shown = [caller.ask(ShowDocument(request=os.urandom(16), names=[name]), DocumentText) for name in names]
            return {each.name: each.text for each in shown}
    except HocketError:
        return {}


def page(caller: Caller, offset: int) -> tuple[list[Document], int]:
    """Documents from the `offset`-th on, and how many there are."""
    reply = caller.ask(ListDocuments(request=os.urandom(16), offset=offset), Documents)
    return reply.documents, reply.total


def found(home: Home, wanted: dict[str, str]) -> dict[str, list[str]]:
    """What a search of each document alone finds; no search of all finds what is no longer there."""
    with Caller(home.listening("device-retrieval")) as caller:

        def search(query: str, *within: str) -> list[Passage]:
            return caller.ask(Search(request=os.urandom(16), query=query, k=64, within=list(within)), Passages).passages

        for query in ("Words of note", "Words number", *(Path(name).stem for name in [*wanted][:20])):
            assert {passage.document for passage in search(query)} <= {*wanted}
        return {name: [passage.text for passage in search(text, name)] for name, text in wanted.items()}


class Watcher:
    """`hocket watch` of a folder, with its output in a file."""

    def __init__(self, home: Home, folder: Path, output: TextIO) -> None:
        options = ["--side", "device", "--home", str(home.at)]
        self._command = [sys.executable, "-m", "hocket_tools.main", "watch", *options, str(folder)]
        self._output = output
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=self._output, stderr=self._output)

    def stop(self) -> int:
        """As Ctrl-C does; returns its exit status."""
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(60)


@contextmanager
def watched(home: Home, folder: Path, output: TextIO) -> Iterator[Watcher]:
    """Watch a folder; what watches it is ended in the end."""
    watcher = Watcher(home, folder, output)
    try:
        yield watcher
    finally:
        watcher.stop()


def kill(home: Home) -> None:
    """End the retrieval daemon as a power cut does."""
    pid = processes.running(home, "device-retrieval")
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: processes.exit_status(pid) is not None or processes.running(home, "device-retrieval") is None)


def do(folder: Path, rng: random.Random, number: int) -> None:
    """Something that people and their editors do to a folder."""
    files, folders = sorted(folder.rglob("*.md")), sorted(place for place in folder.rglob("*") if place.is_dir())
    kind = rng.choice(["create", "create", "edit", "rename", "delete", "beside", "folder", "move"])
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


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize(
    ("operations", "seed"),
    [(OPERATIONS, 0), *(pytest.param(MANY, seed, marks=pytest.mark.long) for seed in range(20))],
)
def test_a_watched_folder_is_had_as_it_is(home: Home, tmp_path: Path, operations: int, seed: int) -> None:
    """Also when the daemon is killed in between, wherever it is, and the watcher is stopped and started anew."""
    rng, folder = random.Random(seed), tmp_path / "notes"
    folder.mkdir()
    folder = folder.resolve()
    (folder / "first.md").write_text("Words of first.")
    said, log = tmp_path / "said", home.log("device-retrieval")
    with said.open("w") as output, watched(home, folder, output) as watcher:
        for number in range(operations):
            do(folder, rng, number)
            if number % BURST == BURST - 1:
                # Where the daemon is by then: before it hears of all that, at the beginning of its work, or behind it.
                waited = rng.choice([None, log, said])
                if waited is not None:
                    size = waited.stat().st_size
                    (folder / f"mark{number}.md").write_text(f"Words of mark{number}.")
                    until(lambda waited=waited, size=size: waited.stat().st_size > size, said=said.read_text)  # type: ignore[misc]
                if rng.random() < 0.7:
                    kill(home)
                    processes.start(home, "device-retrieval")
                if rng.random() < 0.3:
                    watcher.stop()
                    watcher.start()
        wanted = {str(file): file.read_text() for file in folder.rglob("*.md")}
        until(lambda: listed(home) == wanted, every_s=0.5, said=said.read_text)
        assert found(home, wanted) == {name: [text] for name, text in wanted.items()}
        assert watcher.stop() == 130


def test_a_daemon_that_is_away_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Told once, however long it takes."""
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
