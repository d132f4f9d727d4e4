"""The ledger: counts from any thread, bounded, and nothing is lost while its file cannot be written."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from hocket_daemon.privacy import egress
from hocket_daemon.privacy.egress import FOLDED, Entry, Ledger, read
from waiting import WAIT_S


def totals(entries: list[Entry]) -> dict[str, tuple[int, int]]:
    """Messages and bytes by class."""
    kinds = {entry.kind for entry in entries}
    mine = {kind: [entry for entry in entries if entry.kind == kind] for kind in kinds}
    return {kind: (sum(e.messages for e in found), sum(e.size_bytes for e in found)) for kind, found in mine.items()}


def test_counts_add_up_over_threads_writes_and_processes(tmp_path: Path) -> None:
    """What two ledgers of one file counted is in it, once."""

    def count(book: Ledger) -> None:
        for _ in range(500):
            book.count("a", "s", "query", 3)

    for _ in range(2):
        book = Ledger(tmp_path / "ledger")
        threads = [threading.Thread(target=count, args=(book,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        book.write()
        for thread in threads:
            thread.join()
        book.write()
        book.write()
    assert totals(read(tmp_path / "ledger")) == {"query": (2000, 6000)}
    assert stat.S_IMODE((tmp_path / "ledger").stat().st_mode) == 0o600


def test_whoever_writes_finds_all_that_was_counted_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what another thread is writing just then."""
    book, begun, goes_on, add = Ledger(tmp_path / "ledger"), threading.Event(), threading.Event(), egress._add
    found: list[dict[str, tuple[int, int]]] = []

    def add_later(path: Path, pending: dict[tuple[str, str, str], tuple[int, int]]) -> None:
        begun.set()
        assert goes_on.wait(WAIT_S)
        add(path, pending)

    def look() -> None:
        book.write()
        found.append(totals(read(tmp_path / "ledger")))

    monkeypatch.setattr(egress, "_add", add_later)
    book.count("a", "s", "query", 3)
    threads = [threading.Thread(target=book.write), threading.Thread(target=look)]
    threads[0].start()
    assert begun.wait(WAIT_S)
    threads[1].start()
    threads[1].join(0.2)
    goes_on.set()
    for thread in threads:
        thread.join(WAIT_S)
    assert found == [{"query": (1, 3)}]


def test_the_oldest_sessions_are_folded_and_no_byte_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most so many rows; the newest day keeps its sessions the longest."""
    monkeypatch.setattr(egress, "MAX_ROWS", 60)
    book = Ledger(tmp_path / "ledger")
    for day in range(10, 15):
        monkeypatch.setattr(egress.time, "strftime", lambda _, day=day: f"2026-01-{day}")
        for session in range(20):
            book.count("a", f"{session}", "query", 1)
            book.count("a", "", "control", 1)
        book.write()
    entries = read(tmp_path / "ledger")
    assert len(entries) <= 60
    assert totals(entries) == {"query": (100, 100), "control": (100, 100)}
    assert len({entry.session for entry in entries if entry.day == "2026-01-14"}) == 21
    assert {entry.session for entry in entries if entry.day == "2026-01-10"} == {"", FOLDED}


def test_a_full_disk_costs_no_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays in memory, bounded, until the file can be written again."""
    monkeypatch.setattr(egress, "MAX_PENDING", 10)
    book = Ledger(tmp_path / "file" / "ledger")
    (tmp_path / "file").write_text("in the way")
    for session in range(50):
        if session == 25:  # another kind of trouble: what is there is not a file of this user
            (tmp_path / "file").unlink()
            (tmp_path / "file" / "ledger").mkdir(parents=True)
        book.count("a", f"{session}", "query", 1)
        book.write()
    assert len(book._pending) <= 11
    (tmp_path / "file" / "ledger").rmdir()
    book.write()
    assert totals(read(tmp_path / "file" / "ledger")) == {"query": (50, 50)}


def test_without_a_file_nothing_is_kept(tmp_path: Path) -> None:
    """But the sums since the start; nor is there anything to read."""
    book = Ledger(None)
    for _ in range(2):
        book.count("a", "s", "query", 1)
    book.write()
    assert (book.sums, book._pending) == ({"query": 2}, {})
    assert read(tmp_path / "ledger") == []
