"""Which turns are told: those that their reader has read, by their words alone."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from hocket_bus.messages import Prompt, Turn
from hocket_daemon.privacy import history
from hocket_daemon.privacy.history import CLOUD, History

READ, UNREAD = Turn(query="Who?", answer="Anna."), Turn(query="Who?", answer="Ben.")
PROMPT = Prompt(query="And then?", turns=[READ, UNREAD], system="Be brief.")


def told(of: History, reader: str = CLOUD) -> list[Turn]:
    return of.shareable(PROMPT, reader).turns


@pytest.mark.parametrize(("policy", "turns"), [("seen", [READ]), ("all", [READ, UNREAD]), ("none", [])])
def test_the_policy_says_which(policy: history.HistoryPolicy, turns: list[Turn]) -> None:
    """The query and the system line stay."""
    of = History(policy)
    of.add("Who?", " Anna.\n", CLOUD)
    prompt = of.shareable(PROMPT, CLOUD)
    assert (prompt.turns, prompt.query, prompt.system) == (turns, PROMPT.query, PROMPT.system)


def test_what_one_has_read_is_not_told_another() -> None:
    """A server is no cloud daemon."""
    of = History()
    of.add(READ.query, READ.answer, "https://server")
    assert (told(of), told(of, "https://server")) == ([], [READ])


def test_it_is_known_behind_a_restart_and_the_words_are_in_no_file(tmp_path: Path) -> None:
    """In the ledger's file, beside the sums of bytes."""
    file = tmp_path / "ledger"
    of = History("seen", file)
    of.add(READ.query, READ.answer, CLOUD)
    assert told(History("seen", file)) == []
    of.write()
    assert told(History("seen", file)) == [READ]
    assert READ.answer.encode() not in file.read_bytes()


def test_the_oldest_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In memory as on disk; what is read again counts as new."""
    monkeypatch.setattr(history, "MAX_SEEN", 3)
    of = History("seen", tmp_path / "ledger")
    of.add(READ.query, READ.answer, CLOUD)
    for number in range(2):
        of.add("Why?", str(number), CLOUD)
    of.add(READ.query, READ.answer, CLOUD)
    for number in range(2, 4):
        of.add("Why?", str(number), CLOUD)
    of.write()
    for each in (of, History("seen", tmp_path / "ledger")):
        assert told(each) == [READ]
        assert each.shareable(Prompt(query="?", turns=[Turn(query="Why?", answer="1")]), CLOUD).turns == []


def test_a_file_that_is_no_ledger_leaves_nothing_told(tmp_path: Path) -> None:
    """What is not known to have been read stays."""
    file = tmp_path / "ledger"
    file.write_text("no database")
    assert told(History("seen", file)) == []
    with sqlite3.connect(tmp_path / "other") as database:
        database.execute("CREATE TABLE sent (day TEXT)")
    assert told(History("seen", tmp_path / "other")) == []
