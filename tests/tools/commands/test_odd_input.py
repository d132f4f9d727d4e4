"""Laws of odd input at the command line: one line that says what to do, or the thing as it is called."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

import hocket_client
from hocket_bus.messages import AggregationOutcome, Done, Notice
from hocket_tools.commands.asking.ask import ask_people
from hocket_tools.main import run


@pytest.fixture(autouse=True)
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No pair of the user's own is touched."""
    monkeypatch.setenv("HOCKET_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HOCKET_ENDPOINT", raising=False)


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_standard_input_that_is_no_text_is_refused(
    errors: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the command that converts it; how Python reads it depends on the locale."""
    told = io.TextIOWrapper(io.BytesIO("für".encode("latin-1")), encoding="utf-8", errors=errors)
    monkeypatch.setattr(sys, "stdin", told)
    assert run(["ask", "-"]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert "iconv" in line


def test_more_names_than_one_request_takes_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A shell's `*` in a folder of thousands; the folder itself is the remedy."""
    assert run(["ingest", "--side", "device", *["a.md"] * 1_001]) == 2
    assert "over 1,000 names: name their folder" in capsys.readouterr().err


def test_a_link_is_not_down_for_longer_than_a_clock_waits(capsys: pytest.CaptureFixture[str]) -> None:
    """A number of seconds that no wait takes is a usage error."""
    link = ["link", "--listen", "127.0.0.1:0", "--target", "127.0.0.1:1"]
    for outage in ("1e300:1", "1:1e300"):
        assert run([*link, "--down", outage]) == 2
        assert "AT:FOR" in capsys.readouterr().err


def test_no_home_folder_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As of a service's user; the variables that name the folders are the remedy."""

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("HOCKET_HOME", "HOCKET_MODELS", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", staticmethod(homeless))
    assert run(["status"]) == 78
    assert "set HOCKET_HOME" in capsys.readouterr().err


def test_what_a_notice_says_is_shown_as_it_stands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names of documents and devices may look like markup."""
    text = "what [/x] and [red]said[/red] could not be read"

    class Noticed:
        """A client whose answer is one notice."""

        def __init__(self, *_: object, **__: object) -> None: ...

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None: ...

        def ask(self, *_: object, **__: object) -> Self:
            return self

        def events(self) -> Iterator[Notice]:
            yield Notice(request=bytes(16), seq=1, text=text)

        def result(self) -> Done:
            outcome = AggregationOutcome(method="alone")
            return Done(bytes(16), 2, "eos", [5], "x", 0.2, 10.0, "aggregation", 9, outcome)

        def cancel(self) -> None: ...

    monkeypatch.setattr(hocket_client, "Client", Noticed)
    ask_people("ipc:///nowhere", "Where?", {})
    assert f"note: {text}" in capsys.readouterr().err
