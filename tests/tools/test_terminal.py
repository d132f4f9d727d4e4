"""The door to a terminal, and that commands pass it: names and texts of others hide nothing there."""

from __future__ import annotations

import io
import os
import pty
from pathlib import Path

import pytest

from hocket_bus.trust.pins import fingerprint
from hocket_tools import console
from hocket_tools.main import complain, run
from hocket_tools.pair.home import Home
from hocket_tools.terminal import VisibleStream

EVIL = "\u202egnp.exe\u2066\u200b\U000e0041"


def test_the_door_lets_colours_and_moves_pass_and_nothing_that_hides() -> None:
    out = io.StringIO()
    VisibleStream(out).write(f"\x1b[31m{EVIL}\x1b[0m\r\nplain")
    assert out.getvalue() == "\x1b[31m\ufffdgnp.exe\ufffd\ufffd\ufffd\x1b[0m\r\nplain"


def test_whatever_a_command_prints_passes_it(capsys: pytest.CaptureFixture[str]) -> None:
    """To people, at a pipe, too."""
    console.out().print(EVIL)
    console.err().print(EVIL)
    complain(EVIL)
    said = capsys.readouterr()
    assert not {*EVIL} - {*"gnp.exe"} & {*said.out, *said.err}


def test_a_device_that_is_pinned_by_hand_is_listed_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = Home(tmp_path / "pair")
    home.prepare()
    """And a name that would control the terminal is none."""
    home.pins().pin("ben", fingerprint(b"b" * 32))
    assert run(["keys", "list", "--home", str(home.at)]) == 0
    said = capsys.readouterr().out
    assert "by hand" in said
    assert run(["keys", "pin", "eve\x1b[2J", "abcd", "--home", str(home.at)]) == 2


def test_json_is_shown_so_at_a_terminal_alone(tmp_path: Path) -> None:
    """A program gets every character. The terminal is one of the kernel's."""
    reading, writing = pty.openpty()
    with os.fdopen(writing, "w", encoding="utf-8") as terminal:
        assert terminal.isatty()
        VisibleStream(terminal).write(f'{{"name": "{EVIL}"}}\n')
        VisibleStream(terminal).flush()
        got = os.read(reading, 1_000).decode()
    os.close(reading)
    assert not {*EVIL} - {*"gnp.exe"} & {*got}
