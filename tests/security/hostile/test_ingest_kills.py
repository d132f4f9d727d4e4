"""Killed again and again while it reads, a retrieval daemon loses nothing acknowledged and does nothing twice."""

from __future__ import annotations

import queue
import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from slow_daemon import BATCH

from hocket_bus import messages as m
from hocket_bus.sockets import Bus, LinkUp, Received
from processes import with_helpers
from waiting import WAIT_S, until

FILES = 12
SENTENCES = 12


@contextmanager
def started(endpoint: str, state: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(Path(__file__).parents[1] / "slow_daemon.py"), endpoint, str(state)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": with_helpers()}
    with subprocess.Popen(command, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()
            with suppress(BrokenPipeError):
                process.stdin.close()


def let_go(process: subprocess.Popen[str], batches: int) -> None:
    """Wait until so many batches were begun, and let all but the last end."""
    for number in range(batches):
        if number:
            process.stdin.write("\n")
            process.stdin.flush()
        assert any(line.startswith(BATCH) for line in iter(process.stdout.readline, ""))


@contextmanager
def dialled(endpoint: str) -> Iterator[tuple[object, queue.SimpleQueue]]:
    events: queue.SimpleQueue = queue.SimpleQueue()
    with Bus(events.put) as bus:
        link = bus.dial(endpoint, m.Hello(role="device"))
        while not isinstance(events.get(timeout=WAIT_S), LinkUp):
            pass
        yield link, events


def acknowledged(link, events, number: int, folder: Path) -> None:
    """Ask for a folder, and wait until that is written down."""
    link.send(m.Ingest(request=bytes([number]) * 16, paths=[str(folder)]))
    while True:
        event = events.get(timeout=WAIT_S)
        if isinstance(event, Received) and event.message.request == bytes([number]) * 16:
            assert isinstance(event.message, m.Progress)
            assert event.message.files_total == FILES
            return


def folders(base: Path) -> list[Path]:
    made = [base / "first", base / "second"]
    for folder in made:
        folder.mkdir()
        for number in range(FILES):
            words = (f"Sentence {n} of {folder.name} {number}." for n in range(SENTENCES))
            (folder / f"{number}.txt").write_text(" ".join(words))
    return made


def stored(state: Path) -> tuple[int, int, int, int]:
    """Documents, chunks, vectors and files still to read."""
    with closing(sqlite3.connect(state / "documents.sqlite")) as documents:
        counts = [documents.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES]
    with closing(sqlite3.connect(state / "queue.sqlite")) as queue:
        return *counts, queue.execute("SELECT count(*) FROM queue").fetchone()[0]


TABLES = ("documents", "chunks", "vectors")


@pytest.mark.slow
@pytest.mark.parametrize("kills", [3, pytest.param(40, marks=pytest.mark.long)])
def test_both_jobs_are_done_in_the_end(tmp_path, kills):
    """The second job waits behind the first; it is acknowledged, and kept, all the same. Kills fall between batches
    and in the middle of them; what was embedded before one is not embedded again after it."""
    endpoint, state = f"ipc://{tmp_path}/r.sock", tmp_path / "state"
    first, second = folders(tmp_path)
    chosen = random.Random(20)
    with started(endpoint, state) as process, dialled(endpoint) as (link, events):
        acknowledged(link, events, 1, first)
        let_go(process, 1)
        acknowledged(link, events, 2, second)
    assert stored(state)[3] == 2 * FILES
    for _ in range(kills - 1):
        with started(endpoint, state) as process:
            let_go(process, chosen.randint(1, 2))
        documents, chunks, _, queued = stored(state)
        assert documents + queued >= 2 * FILES  # a file is in the store before it leaves the queue
        assert chunks == SENTENCES * documents
    with started(endpoint, state) as process:
        process.stdin.write("\n" * 1000)
        process.stdin.flush()
        until(lambda: stored(state)[3] == 0)
    chunks = 2 * FILES * SENTENCES
    assert stored(state) == (2 * FILES, chunks, chunks, 0)
