"""`hocket audit` prints the ledger: every byte in one row, however it is grouped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hocket_daemon.privacy.budget import today
from hocket_daemon.privacy.disclosure_account import DisclosureAccount, DisclosureBounds
from hocket_daemon.privacy.egress import Ledger
from hocket_daemon.serving.records.decisions import Decisions
from hocket_tools.main import run

COUNTED = [("a", "", "control", 5), ("a", "s", "query", 100), ("a", "s", "drafts", 2000), ("b", "t", "targets", 30)]


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Two peers, two sessions and a connection's own bytes."""
    book = Ledger(tmp_path / "ledger")
    for each in COUNTED:
        book.count(*each)
    book.write()
    return tmp_path / "ledger"


@pytest.mark.parametrize(("by", "names"), [("day", None), ("peer", ["a", "b"]), ("session", ["-", "s", "t"])])
def test_every_grouping_shows_every_byte(
    ledger: Path, by: str, names: list[str] | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """As JSON for programs, with thousands set apart for people."""
    assert run(["audit", "--ledger", str(ledger), "--by", by, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert sum(row["total"] for row in rows) == 2135
    assert names is None or sorted(row[by] for row in rows) == names
    assert run(["audit", "--ledger", str(ledger), "--by", by]) == 0
    shown = capsys.readouterr().out
    assert "2,000" in shown
    assert "2,135" in shown


def test_what_left_for_each_key_is_what_left_in_its_sessions(
    ledger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As far as records say; all else is nobody's, and no byte is in two rows."""
    (tmp_path / "device.toml").write_text(f'decisions = "{tmp_path}/decisions"\n[egress]\nledger = "{ledger}"\n')
    by_key = ["audit", "--by", "key", "--json", "--home", str(tmp_path)]
    assert run(by_key) == 0
    assert [(row["key"], row["total"]) for row in json.loads(capsys.readouterr().out)["rows"]] == [("-", 2135)]
    decisions = Decisions(tmp_path / "decisions")
    decisions.keep(b"1", "aggregation", lambda: {"asked by": "anna", "sessions": ["s", "u"]})
    decisions.keep(b"2", "aggregation", lambda: {"sessions": ["t"]})
    decisions.close()
    assert run(by_key) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["key"]: row["bytes"] for row in rows} == {
        "anna": {"query": 100, "drafts": 2000},
        "-": {"control": 5, "targets": 30},
    }
    assert run(["audit", "--by", "key", "--home", str(tmp_path)]) == 0
    assert "anna" in capsys.readouterr().out
    assert run(["audit", "--by", "key", "--ledger", str(ledger)]) == 2
    assert "leave out --ledger" in capsys.readouterr().err


def test_what_cannot_be_read_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No pair, no ledger yet, none of that name, none configured, and a file that is none."""
    assert run(["audit", "--home", str(tmp_path / "nowhere")]) == 78
    error = capsys.readouterr().err
    assert f"no pair in {tmp_path}/nowhere, which has no device.toml: make one: hocket up --home" in error
    (tmp_path / "device.toml").write_text(f'[egress]\nledger = "{tmp_path}/none"\n')
    assert run(["audit", "--home", str(tmp_path)]) == 0
    assert "nothing has left yet" in capsys.readouterr().out
    assert run(["audit", "--ledger", str(tmp_path / "none")]) == 2
    assert f"{tmp_path}/none does not exist" in capsys.readouterr().err
    (tmp_path / "device.toml").write_text('endpoint = "ipc:///x"\n')
    assert run(["audit", "--home", str(tmp_path)]) == 78
    assert "add under [egress]: ledger" in capsys.readouterr().err
    (tmp_path / "broken").write_text("this is no database, but it is long enough to be taken for one" * 20)
    assert run(["audit", "--ledger", str(tmp_path / "broken")]) == 69
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "name the file of [egress] ledger" in error


def test_the_bits_of_documents_are_those_of_the_account(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows have the bits of today and of all days, by peer, the largest first; what is not counted is named."""
    by_document = ["audit", "--ledger", str(ledger), "--by", "document"]
    assert run(by_document) == 0
    assert 'drafts = "words"' in capsys.readouterr().out
    days = iter(["2026-01-01", today(), today()])
    account = DisclosureAccount(ledger, DisclosureBounds(), lambda: day)
    for peer, bits in (
        ("cloud", {"lease.md": 3.0}),
        ("cloud", {"lease.md": 1.0, "list.md": 9.5}),
        ("group", {"lease.md": 2.0}),
    ):
        day = next(days)
        account.charge(peer, bits)
    account.write()
    assert run([*by_document, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == [
        {"document": "list.md", "today": 9.5, "total": 9.5, "peers": {"cloud": 9.5}, "last": today()},
        {"document": "lease.md", "today": 3.0, "total": 6.0, "peers": {"cloud": 4.0, "group": 2.0}, "last": today()},
    ]
    assert "questions" in found["not_counted"]
    assert run(by_document) == 0
    shown = capsys.readouterr().out
    assert "lease.md" in shown
    assert "Not counted" in shown
