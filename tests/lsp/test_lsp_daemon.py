"""Laws of a server whose daemon is away, busy or back, of how much it asks of it, and of how it ends."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from importlib.resources import files
from itertools import pairwise

import pytest
from editor import Editor, with_editor
from lsprotocol import types
from scripted_device import ScriptedDevice, about

from hocket_bus.messages import Compose
from hocket_tools.lsp.drafts import MAX_COMPOSED
from hocket_tools.main import run
from processes import guarded
from waiting import WAIT_S, until

END = types.Position(0, 3)


@pytest.mark.slow
def test_a_daemon_that_is_away_costs_one_line_and_is_found_again(device: ScriptedDevice) -> None:
    """Before it was ever there, and after it has been: the text goes on where it was."""

    async def law(editor: Editor) -> None:
        editor.open("a", "one")
        for _ in range(5):
            assert await editor.grey("a", END) is None
        assert ["no daemon answers" in line for line in editor.logged] == [True]
        device.open()
        assert await editor.told("a", END) == about("one", 3)
        device.close()
        editor.replace("a", "two")
        assert await editor.grey("a", END) is None
        assert "no suggestion came" in editor.logged[-1]
        device.open()
        assert await editor.told("a", END) == about("two", 3)
        assert all(line != next_line for line, next_line in pairwise(editor.logged))

    device.close()
    asyncio.run(with_editor(device.endpoint, law))


@pytest.mark.slow
def test_a_busy_daemon_costs_one_line_and_is_left_alone(device: ScriptedDevice) -> None:
    """It is not asked at every key."""

    async def law(editor: Editor) -> None:
        editor.open("a", "one")
        for _ in range(20):
            assert await editor.grey("a", END) is None
        assert editor.logged == ["full: try again"]
        assert sum(isinstance(message, Compose) for message in device.got) == 1

    device.busy_s = 2 * WAIT_S
    asyncio.run(with_editor(device.endpoint, law))


def test_a_busy_daemon_is_asked_again(device: ScriptedDevice) -> None:
    """After the time that it says."""

    async def law(editor: Editor) -> None:
        editor.open("a", "one")
        assert await editor.grey("a", END) is None
        device.busy_s = 0.0
        assert await editor.told("a", END) == about("one", 3)

    device.busy_s = 0.1
    asyncio.run(with_editor(device.endpoint, law))


@pytest.mark.slow
def test_a_device_keeps_rows_for_few_texts(device: ScriptedDevice) -> None:
    """None for those that nothing was asked for, nor for those that were closed; the last ones asked for stay."""

    async def law(editor: Editor) -> None:
        names = [f"draft {number}" for number in range(MAX_COMPOSED + 2)]
        for name in names:
            editor.open(name, name)
            editor.replace(name, name + "!")
        assert not device.got
        for name in [*names, names[0]]:
            assert await editor.told(name, END) == about(name + "!", 3)
        expected = {name + "!" for name in [*names[1 - MAX_COMPOSED :], names[0]]}
        await asyncio.to_thread(until, lambda: {each.text for each in device.texts.values()} == expected)
        for name in names:
            editor.close(name)
        await asyncio.to_thread(until, lambda: not device.texts)

    asyncio.run(with_editor(device.endpoint, law))


def test_what_is_typed_along_is_told_at_once(device: ScriptedDevice) -> None:
    """A change is sent before anything is asked, with the cursor behind it; asking there costs the device nothing."""

    async def law(editor: Editor) -> None:
        editor.open("a", "one")
        assert await editor.told("a", END) == about("one", 3)
        editor.change("a", types.TextDocumentContentChangePartial(types.Range(END, END), "🙂"))
        await asyncio.to_thread(until, lambda: device.seen[-1] == ("one🙂", 4))
        assert await editor.told("a", types.Position(0, 5)) == about("one🙂", 4)
        assert [*device.seen].count(("one🙂", 4)) == 1

    asyncio.run(with_editor(device.endpoint, law))


@pytest.mark.slow
def test_options_reach_the_device(device: ScriptedDevice) -> None:
    """How long suggestions are, and whether the cloud may be asked."""

    async def law(editor: Editor) -> None:
        editor.open("a", "one")
        assert await editor.told("a", END) == about("one", 3)
        (compose,) = (message for message in device.got if isinstance(message, Compose))
        assert (compose.tokens, compose.remembers) == (30, False)

    asyncio.run(with_editor(device.endpoint, law, "--tokens", "30", "--no-memory"))


def test_the_plugin_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """It is part of the package, and nothing is printed beside it."""
    assert run(["lsp", "--lua"]) == 0
    assert capsys.readouterr().out == (files("hocket_tools.lsp") / "neovim.lua").read_text(encoding="utf-8")


SHUTDOWN = b'{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}'
EXIT = b'{"jsonrpc": "2.0", "method": "exit"}'


@pytest.mark.parametrize(
    ("said", "status"),
    [([SHUTDOWN, EXIT], 0), ([EXIT], 1), ([], 0), ([SHUTDOWN], 0)],
    ids=["told", "rude", "gone", "both"],
)
def test_it_ends_when_it_is_told_or_its_editor_is_gone(said: list[bytes], status: int) -> None:
    """With the status that the protocol asks for, and no word beside it."""
    done = subprocess.run(
        [sys.executable, "-m", "hocket_tools.main", "lsp"],
        input=b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(part), part) for part in said),
        capture_output=True,
        timeout=WAIT_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (status, b"")
    assert done.stdout.endswith(b'"result": null}') if SHUTDOWN in said else not done.stdout


def test_ctrl_c_ends_it(device: ScriptedDevice) -> None:
    """Though its editor says nothing, and has not left."""
    command = [sys.executable, "-m", "hocket_tools.main", "lsp", "--endpoint", device.endpoint]
    pipe = subprocess.PIPE
    with guarded(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        ask = '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}'
        process.stdin.write(f"Content-Length: {len(ask)}\r\n\r\n{ask}")
        process.stdin.flush()
        assert process.stdout.readline().startswith("Content-Length")
        process.send_signal(signal.SIGINT)
        assert process.wait(WAIT_S) == 130
        assert process.stderr.read() == ""
