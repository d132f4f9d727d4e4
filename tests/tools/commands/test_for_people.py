"""Laws of what people see and programs do not: short paths, and the legend of colours."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from hocket_bus.messages import Done, Origin
from hocket_tools import console
from hocket_tools.commands.asking import ask
from hocket_tools.main import complain
from hocket_tools.pair.hints import shortened_in

DONE = Done(
    request=bytes(16),
    seq=0,
    finish="eos",
    token_ids=[5],
    text="x",
    ttft_s=0.0,
    ms_per_token=0.0,
    mode="aggregation",
    seed=9,
)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


class Seen(io.StringIO):
    """What is written to a stream, a terminal or not."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


class Answered:
    """In the place of a client and its stream: an answer without a token."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def ask(self, *_: object, **__: object) -> Answered:
        return self

    def events(self) -> Iterator[object]:
        return iter(())

    def result(self) -> Done:
        return DONE

    def __enter__(self) -> Answered:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def test_paths_are_short_where_no_shell_would_miss_it(own: Path) -> None:
    """What only begins like the folder, a part of another path and what is quoted stay."""
    text = f"{own}/a.txt, ({own}/b) {own}2/c /x{own}/d '{own}/e f' ipc://{own}/g {own}"
    assert shortened_in(text) == text.replace(f"{own}/a", "~/a").replace(f"({own}/b", "(~/b")


@pytest.mark.parametrize("terminal", [True, False])
def test_sources_and_errors_have_short_paths_on_a_terminal(
    own: Path, terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs get them whole."""
    monkeypatch.setattr("sys.stderr", seen := Seen(terminal))
    done = structs.replace(DONE, sources=[Origin(side="device", document=f"{own}/notes/a.txt", ordinal=3, share=1.0)])
    path = "~/notes/a.txt" if terminal else f"{own}/notes/a.txt"
    assert console.sources(done) == [f"100.0%  device  {path}, part 4"]
    complain(f"{own}/notes/a.txt: no such file")
    assert seen.getvalue() == f"hocket: {path}: no such file\n"


@pytest.mark.parametrize(
    ("stdout", "stderr", "environment", "shown"),
    [
        (True, True, {}, True),
        (True, False, {}, False),
        (False, True, {}, False),
        (True, True, {"NO_COLOR": "1"}, False),
        (True, True, {"TERM": "dumb"}, False),
    ],
)
def test_the_legend_is_for_who_sees_colours(
    stdout: bool, stderr: bool, environment: dict[str, str], shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal, beside an answer on a terminal."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout", Seen(stdout))
    monkeypatch.setattr("sys.stderr", seen := Seen(stderr))
    monkeypatch.setattr("hocket_client.Client", Answered)
    ask.ask_people("ipc:///x", "Where?", {})
    assert ("resampled" in seen.getvalue()) == shown
