"""Laws of looking at documents from the command line: a text with its places, what was passed over, quoted passages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hocket_bus.messages import Done, Origin
from hocket_retrieval.collection import Collection
from hocket_retrieval.config import RetrievalConfig
from hocket_retrieval.service import daemon as daemons
from hocket_retrieval.service.daemon import Daemon
from hocket_tools.commands.asking.quoting import print_quotes, records
from hocket_tools.main import run
from toys import ToyEmbedder

LEASE = f"""# Lease

The tenant is Ada. {"She signed it. " * 9}

## Deposit

It is two months of rent, {"paid early and in full. " * 8}
"""


@pytest.fixture
def endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A retrieval daemon in this process that has read a lease, and has not read two other files."""
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "Lease.md").write_text(LEASE)
    (folder / "broken.pdf").write_bytes(b"no pdf")
    (folder / "photo.xyz").write_bytes(b"x")
    with Collection(tmp_path / "state", ToyEmbedder()) as collection:
        collection.ingest([folder])
    config = RetrievalConfig(endpoint=f"ipc://{tmp_path}/r.sock", state=str(tmp_path / "state"))
    monkeypatch.setattr(daemons, "open_collection", lambda _: Collection(Path(config.state), ToyEmbedder()))
    monkeypatch.setenv("HOCKET_HOME", str(tmp_path / "home"))
    daemon = Daemon(config)
    try:
        daemon.start()
        while daemon._collection is None:
            daemon._worker.join(0.01)
        yield config.endpoint
    finally:
        daemon.close()


def said(capsys: pytest.CaptureFixture[str], endpoint: str, *words: str, status: int = 0) -> str:
    assert run(["documents", "--side", "device", "--endpoint", endpoint, *words]) == status
    captured = capsys.readouterr()
    return captured.out if status == 0 else captured.err


def test_a_document_is_shown_with_its_places(endpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By its path or the end of it; a name that is none's is one line that says what to do."""
    lines = [line[:18] for line in said(capsys, endpoint, "--show", "Lease.md").splitlines()]
    assert lines.index("[§ Lease]") < lines.index("The tenant is Ada.") < lines.index("[§ Lease › Deposit"[:18])
    assert lines[-1].startswith("It is two months")
    shown = json.loads(said(capsys, endpoint, "--json", "--show", str(tmp_path / "files" / "Lease.md")))
    assert [each["place"] for each in shown["places"]] == ["§ Lease", "§ Lease › Deposit"]
    assert all(shown["text"][each["offset"] :].startswith(each["place"].split(" ")[-1]) for each in shown["places"])
    error = said(capsys, endpoint, "--show", "Other.md", status=2)
    assert "no document" in error
    assert "hocket documents" in error


def test_what_was_passed_over_is_listed_with_its_reason(endpoint: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, endpoint, "--skipped").splitlines()
    assert [Path(line.partition(": ")[0]).name for line in lines] == ["broken.pdf", "photo.xyz"]
    found = json.loads(said(capsys, endpoint, "--skipped", "--json"))["skipped"]
    assert [Path(each["name"]).name for each in found] == ["broken.pdf", "photo.xyz"]
    assert all(each["reason"] for each in found)


def test_one_thing_is_asked_at_a_time(endpoint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "use only one of" in said(capsys, endpoint, "--skipped", "--show", "Lease.md", status=2)


def test_a_search_names_the_place(endpoint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "--side", "device", "--endpoint", endpoint, "months of rent"]) == 0
    assert "Lease.md, § Lease › Deposit" in capsys.readouterr().out


def test_what_an_answer_comes_from_is_quoted(endpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Word for word what is stored here; of the other side, of other devices and of what is gone the name alone."""
    name = str(tmp_path / "files" / "Lease.md")
    sources = [
        Origin(side="device", document=name, ordinal=1, share=0.5, place="§ Lease › Deposit"),
        Origin(side="cloud", document="towns.md", ordinal=0, share=0.3),
        Origin(side="device", document=name, ordinal=0, share=0.1, device="other"),
        Origin(side="device", document="gone.md", ordinal=0, share=0.0996),
        Origin(side="device", document=name, ordinal=0, share=0.0004),
        Origin(side="cloud", document="", ordinal=0, share=0.0),
    ]
    done = Done(
        request=bytes(16), seq=1, finish="eos", token_ids=[5], text="x", ttft_s=0.0, ms_per_token=0.0,
        mode="aggregation", seed=9, sources=sources,
    )  # fmt: skip
    print_quotes(done, endpoint, None)
    quoted = capsys.readouterr().out
    assert "It is two months of rent" in quoted
    assert f"{name}, § Lease › Deposit" in quoted
    assert "The tenant is Ada." not in quoted
    found = records(done, endpoint, None)
    assert [bool(each["text"]) for each in found] == [True, False, False, False]
    assert [each["document"] for each in found] == [name, "towns.md", name, "gone.md"]


def test_only_the_pair_here_is_quoted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ask", "--quote", "--endpoint", "tcp://laptop:7000", "Why?"]) == 2
    assert "leave out --endpoint" in capsys.readouterr().err
