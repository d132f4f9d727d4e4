"""`hocket chat` on a running device: turns are kept, go on next time, and are forgotten when that is said."""

from __future__ import annotations

import io
import json
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness import Pair, pair

from hocket_bus.messages import Turn
from hocket_bus.visible import visible
from hocket_tools.main import run
from hocket_tools.pair.saved_chat import saved_turns

Chat = Callable[..., tuple[int, str, str]]


@pytest.fixture
def made(tiny_models: dict[str, Path]) -> Iterator[Pair]:
    """A device whose folder is a pair's home."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        made.start_retrieval("device")
        made.start_device(decisions=str(made.folder / "decisions.db"))
        endpoint = made.endpoint("device")
        (made.folder / "device.toml").write_text(f'endpoint = "{endpoint}"\ndecisions = "{made.folder}/decisions.db"\n')
        yield made


@pytest.fixture
def chat(made: Pair, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Chat:
    """Say some lines; the status, what came to standard output, and to standard error."""

    def said(*lines: str, options: tuple[str, ...] = ()) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        capsys.readouterr()
        status = run(["chat", "--max-tokens", "4", "--temperature", "0", "--home", str(made.folder), *options])
        return status, *capsys.readouterr()

    return said


def file_of(made: Pair) -> Path:
    return made.folder / "chat.json"


def test_a_conversation_is_kept_and_goes_on(made: Pair, chat: Chat) -> None:
    """For its owner alone; the answer is that of a client that has the same turns."""
    status, first, _ = chat("kala?", "mira?")
    assert status == 0
    kept = saved_turns(file_of(made))
    assert [turn.query for turn in kept] == ["kala?", "mira?"]
    assert first.split() == visible(" ".join(turn.answer for turn in kept)).split()
    assert stat.S_IMODE(file_of(made).stat().st_mode) == 0o600
    _, second, notes = chat("duno?")
    assert "continuing after 2 turns" in notes
    asked = made.client().ask("duno?", turns=kept, max_tokens=4, temperature=0).result()
    assert second.strip() == asked.text
    assert saved_turns(file_of(made)) == [*kept, Turn(query="duno?", answer=asked.text)]


def test_what_can_be_said_besides(made: Pair, chat: Chat) -> None:
    """Nothing of it is a question."""
    _, _, before = chat("/sources", "/why", "/help", "/fly", "", "/quit", "kala?")
    for line in ("no answer yet", "/alone", "unknown command /fly; /help lists all"):
        assert line in before
    assert not file_of(made).exists()
    _, shown, after = chat("kala?", "/sources", "/why", "/alone", "/alone", "mira?")
    assert "device-0" in after
    assert [line.split() for line in shown.splitlines()].count(["question", "kala?"]) == 1
    assert "asking this device only" in after
    assert "asking the cloud, too" in after
    assert len(saved_turns(file_of(made))) == 2


def test_what_was_said_can_be_forgotten(made: Pair, chat: Chat) -> None:
    """At the beginning or in the middle; the words are gone from the folder."""
    chat("kala?")
    chat("/new")
    assert not file_of(made).exists()
    chat("kala?")
    chat("mira?", options=("--new",))
    assert [turn.query for turn in saved_turns(file_of(made))] == ["mira?"]


def test_what_is_kept_is_checked(made: Pair, chat: Chat) -> None:
    """A file that holds something else is told in one line, and left as it is."""
    for text in ("{", "[1]", json.dumps([{"query": "kala?"}])):
        file_of(made).write_text(text)
        status, _, told = chat("kala?")
        assert status == 78
        assert told.startswith(f"hocket: {file_of(made)} holds no conversation")
        assert file_of(made).read_text() == text
    status, _, _ = chat("kala?", options=("--new",))
    assert status == 0


def test_another_daemons_conversation_is_not_kept(made: Pair, chat: Chat) -> None:
    """There is no folder of its own for it here."""
    status, shown, _ = chat("kala?", "/why", options=("--endpoint", made.endpoint("device")))
    assert status == 0
    assert ["question", "kala?"] in [line.split() for line in shown.splitlines()]
    assert not file_of(made).exists()
