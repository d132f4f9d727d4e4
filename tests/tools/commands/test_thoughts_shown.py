"""What a server's model thinks, in a terminal: dim and apart from the answer, and nowhere else but in `--json`."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console

from hocket_bus.messages import Done, Notice, Thought, Token
from hocket_tools import console
from hocket_tools.commands.asking import ask

ID = bytes(16)
DONE = Done(ID, 5, "eos", [5], "Red.", 0.2, 10.0, "dispatch", 9, reasoning="Which\nbay?")
EVENTS = (
    Thought(ID, 0, "Which\n", 0.1),
    Notice(ID, 1, "on the way"),
    Thought(ID, 2, "bay\x1b?", 0.1),
    Token(ID, 3, 0, 5, "Red.", "cloud", 0.2),
    DONE,
)


class Answered:
    """A stream of these events."""

    def events(self) -> Iterator[object]:
        yield from EVENTS

    def result(self) -> Done:
        return DONE


@pytest.mark.parametrize("is_terminal", [True, False])
def test_thoughts_are_shown_where_somebody_looks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_terminal: bool
) -> None:
    """On standard error, each before a line of its own; standard output has the answer alone."""
    shown = io.StringIO()
    err = Console(file=shown, force_terminal=is_terminal, no_color=True, highlight=False, soft_wrap=True, width=80)
    monkeypatch.setattr(console, "err", lambda: err)
    assert ask.print_answer(Answered()) is DONE  # type: ignore[arg-type]
    assert capsys.readouterr().out == "Red.\n"
    plain = shown.getvalue().replace("\x1b[2m", "").replace("\x1b[0m", "")
    thought = ["Which", "", "note: on the way", "bay�?", ""] if is_terminal else ["note: on the way"]
    assert [line for line in plain.splitlines() if line] == [line for line in thought if line]
    assert ("\x1b[2m" in shown.getvalue()) == is_terminal
    assert not is_terminal or plain.endswith("?\n\n")


def test_json_has_each_thought_and_all_of_them_at_the_end() -> None:
    records: list[dict[str, Any]] = [ask._record(event) for event in EVENTS]
    assert records[0] == {"event": "thought", "text": "Which\n", "t_s": 0.1}
    assert records[-1]["reasoning"] == "Which\nbay?"
    assert "reasoning" not in records[3]
