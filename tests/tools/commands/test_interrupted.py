"""Laws of Ctrl-C: a command that leaves something going on or half done says so in one line, and how to end it."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from hocket_tools.main import run
from hocket_tools.pair.home import Home

LEFT = [  # a command, what Ctrl-C comes in, what is said
    (
        "ingest --side device HOME",
        "hocket_tools.commands.library.documents.read_in",
        "the device's retrieval daemon goes on reading what it has accepted: hocket status --home HOME shows it, "
        "hocket documents --home HOME --side device --remove HOME undoes it",
    ),
    (
        "documents --side cloud --remove HOME",
        "hocket_tools.caller.Caller.ask",
        "hocket documents --home HOME --side cloud",
    ),
    ("graph withdraw", "hocket_tools.caller.Caller.ask", "run again: hocket graph withdraw --home HOME"),
    ("graph calibrate Q", "hocket_tools.graph.calibrating.calibrated", "nothing was written: hocket graph calibrate"),
    ("model get smollm2 --again", "hocket_tools.models.installing.renewed", "hocket model get smollm2 continues"),
    ("profile cloud.example", "hocket_tools.network.survey.survey", "earlier measurements stay"),
    ("profile --offline", "hocket_tools.decode_stage.measure_decode", "hocket profile --offline starts again"),
    ("train composition --data HOME --out HOME", "hocket_tools.train.composition.train", "the same command resumes"),
    ("up", "hocket_tools.pair.up.bring_up", "stopped what was started; hocket up --home HOME starts again"),
    ("down", "hocket_tools.pair.processes.stop", "hocket down --home HOME continues"),
]


@pytest.mark.parametrize(("command", "within", "said"), LEFT, ids=[command for command, *_ in LEFT])
def test_ctrl_c_says_what_it_leaves(
    command: str,
    within: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On standard error, last, with status 130; commands in it are for the same pair."""
    home = Home(tmp_path / "home")
    home.prepare()
    monkeypatch.setenv("HOCKET_HOME", str(home.at))
    (tmp_path / "questions").write_text('{"question": "Where?", "document": "a.txt"}\n' * 30)

    def interrupt(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("hocket_tools.caller.Caller.__init__", lambda *_, **__: None)
    monkeypatch.setattr("hocket_tools.caller.Caller.close", lambda *_: None)
    monkeypatch.setattr(within, interrupt)
    words = [{"HOME": str(home.at), "Q": str(tmp_path / "questions")}.get(word, word) for word in command.split()]
    assert run(words) == 130
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("hocket: ")
    assert said.replace("HOME", str(home.at)) in last
