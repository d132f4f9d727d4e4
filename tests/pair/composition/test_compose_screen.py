"""`hocket compose` in a terminal, and line by line: what a writer sees, presses and finds in the file."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pyte
import pytest
from harness import Pair, pair

from exact import exact
from hocket_bus.errors import HocketError
from hocket_daemon.composition.service import Composing
from hocket_daemon.engine.settings import BUNDLED
from waiting import WAIT_S

ROWS, COLUMNS = 12, 100
HOCKET = [sys.executable, "-m", "hocket_tools.main"]
TEXT = "The village was first se"
TAB, WORD, ESCAPE, SAVE, LEAVE, BACK = b"\t", b"\x1b[1;5C", b"\x1b", b"\x13", b"\x11", b"\x7f"


@dataclass
class Terminal:
    """A program in a pseudo-terminal, and its screen."""

    process: subprocess.Popen[bytes]
    at: int
    screen: pyte.Screen
    stream: pyte.ByteStream

    def press(self, keys: bytes) -> None:
        os.write(self.at, keys)

    def until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_S
        while not holds():
            assert time.monotonic() < deadline, "\n".join(self.screen.display)
            self.read()

    def read(self) -> None:
        if select.select([self.at], [], [], 0.05)[0]:
            self.stream.feed(os.read(self.at, 65_536))

    @property
    def written(self) -> str:
        """The same without what stands in grey."""
        cells = [self.screen.buffer[row][column] for row in range(ROWS - 1) for column in range(COLUMNS)]
        return "".join(cell.data for cell in cells if cell.fg == "default").rstrip()

    @property
    def grey(self) -> str:
        cells = [self.screen.buffer[row][column] for row in range(ROWS - 1) for column in range(COLUMNS)]
        return "".join(cell.data for cell in cells if cell.fg != "default").rstrip()

    @property
    def status(self) -> str:
        return str(self.screen.display[-1])


@pytest.fixture
def made(tiny_models: dict[str, Path]) -> Iterator[Pair]:
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        made.start_device(model=exact(name=BUNDLED))
        yield made


@pytest.fixture
def terminal(made: Pair) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    (made.folder / "letter.txt").write_text(TEXT)
    command = [*HOCKET, "compose", str(made.folder / "letter.txt"), "--endpoint", made.endpoint("device")]
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=os.environ | {"TERM": "xterm-256color"},
        start_new_session=True,
    ) as process:  # fmt: skip
        os.close(theirs)
        screen = pyte.Screen(COLUMNS, ROWS)
        try:
            yield Terminal(process, ours, screen, pyte.ByteStream(screen))
        finally:
            process.kill()
            os.close(ours)


def test_words_and_all_are_taken_and_the_file_is_what_was_seen(made: Pair, terminal: Terminal) -> None:
    wanted = TEXT
    for press in (WORD, WORD, TAB):
        terminal.until(lambda: terminal.written == wanted and terminal.grey == told(made, wanted) != "")  # noqa: B023
        grey = told(made, wanted)
        terminal.press(press)
        wanted += grey if press == TAB else first_word(grey)
    terminal.until(lambda: terminal.written == wanted)
    terminal.press(SAVE)
    terminal.until(lambda: "saved" in terminal.status)
    assert (made.folder / "letter.txt").read_text() == terminal.written
    terminal.press(LEAVE)
    assert terminal.process.wait(WAIT_S) == 0


def test_a_save_that_fails_is_one_line_and_the_text_stays(made: Pair, terminal: Terminal) -> None:
    """The file is as it was; once it can be written again the same text is saved."""
    file = made.folder / "letter.txt"
    terminal.until(lambda: terminal.written == TEXT)
    file.rename(made.folder / "away.txt")
    file.mkdir()
    terminal.press(b"x" + SAVE)
    terminal.until(lambda: "not saved: Is a directory; the file is as it was" in terminal.status)
    assert terminal.written == TEXT + "x"
    assert (made.folder / "away.txt").read_text() == TEXT
    file.rmdir()
    terminal.press(SAVE)
    terminal.until(lambda: "| saved" in terminal.status)
    assert file.read_text() == TEXT + "x"


def told(made: Pair, text: str) -> str:
    """What the device suggests behind a text; empty while it has another one."""
    assert made.device is not None
    for entry in made.device.sessions.led.values():
        assert isinstance(entry.session, Composing)
        last = entry.session.last
        if last is not None and (last.path.window.text + last.path.window.typed) == text:
            return last.text
    return ""


def first_word(text: str) -> str:
    blanks = len(text) - len(text.lstrip())
    return text[: blanks + len(text.split(maxsplit=1)[0])]


@pytest.mark.slow
def test_a_picture_shows_what_a_writer_would_see(made: Pair, tmp_path: Path) -> None:
    """Text, suggestion and status line stand in it, and it loads nothing from afar."""
    (tmp_path / "letter.txt").write_text(TEXT)
    command = [*HOCKET, "compose", "letter.txt", "--endpoint", made.endpoint("device"), "--picture", "screen.svg"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=WAIT_S, stdin=subprocess.DEVNULL)
    drawn = ElementTree.fromstring((tmp_path / "screen.svg").read_text())
    shown = [(each.text or "").replace("\xa0", " ") for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
    with made.client().compose(TEXT, memory=False) as composer:
        suggested = composer.wait(WAIT_S)
    assert suggested is not None
    assert len(suggested.text) > 1
    at = shown.index(TEXT)
    assert shown[at + 1] + shown[at + 2].rstrip() == suggested.text  # the cursor stands on its first letter
    assert any(text.startswith(" letter.txt | no memory yet | new words may be sent") for text in shown)
    assert "url(http" not in (tmp_path / "screen.svg").read_text()


def test_nothing_is_shown_once_it_is_dismissed(terminal: Terminal) -> None:
    terminal.until(lambda: bool(terminal.grey))
    terminal.press(ESCAPE)
    terminal.until(lambda: not terminal.grey)
    assert terminal.written == TEXT
    terminal.press(b"t")
    terminal.until(lambda: bool(terminal.grey))
    assert terminal.written == TEXT + "t"


def test_what_is_not_saved_is_not_left_at_once(made: Pair, terminal: Terminal) -> None:
    """Saved or not, what is left at last was said to be."""
    terminal.until(lambda: terminal.written == TEXT)
    terminal.press(b"!")
    terminal.until(lambda: terminal.written == TEXT + "!")
    terminal.press(LEAVE)
    terminal.until(lambda: "not saved" in terminal.status)
    assert terminal.process.poll() is None
    terminal.press(b"?")
    terminal.until(lambda: terminal.written == TEXT + "!?")
    terminal.press(LEAVE)
    terminal.until(lambda: "not saved" in terminal.status)
    terminal.press(LEAVE)
    assert terminal.process.wait(WAIT_S) == 0
    assert (made.folder / "letter.txt").read_text() == TEXT


def test_an_error_ends_a_suggestion_and_not_the_writing(made: Pair, terminal: Terminal) -> None:
    terminal.until(lambda: bool(terminal.grey))
    assert made.device is not None
    device = made.device
    device.bus.post(lambda: [led.session.fail(HocketError("the model failed")) for led in device.sessions.led.values()])
    terminal.until(lambda: "the model failed" in terminal.status)
    terminal.press(b"t")
    terminal.until(lambda: terminal.written == TEXT + "t" and bool(terminal.grey))
    terminal.press(SAVE)
    terminal.until(lambda: "saved" in terminal.status)
    assert (made.folder / "letter.txt").read_text() == TEXT + "t"


@pytest.mark.parametrize("stop", [pytest.param(signal.SIGTERM, marks=pytest.mark.slow), signal.SIGINT])
def test_lines_end_with_the_input_and_with_ctrl_c(made: Pair, stop: signal.Signals) -> None:
    """What cannot be read costs one event; every line's event bears its number."""
    command = [*HOCKET, "compose", "--json", "--no-memory", "--endpoint", made.endpoint("device")]
    texts = [
        {"version": 41, "text": TEXT},
        {"version": 42, "text": TEXT + "t", "cursor": 99},
        {"version": 43, "text": ""},
    ]
    lines = [*map(json.dumps, texts[:2]), "no text", json.dumps(texts[2])]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, timeout=WAIT_S, check=False)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, "")
    assert [each["code"] for each in events if each["event"] == "error"] == ["bad_request"] * 2
    assert events[-1]["event"] == "suggestion"
    assert events[-1]["version"] == 43
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(lines[0] + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["version"] == 41
        process.send_signal(stop)
        assert process.wait(WAIT_S) in (130, -signal.SIGTERM)
