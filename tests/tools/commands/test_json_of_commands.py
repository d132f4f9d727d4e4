"""Laws of every command that has `--json`: whatever the notes, each line is strict JSON and the status is right.

No test saw `hocket ask --json` break where words of an answer are in no passage, since the tests of commands looked at
one field each, of notes that have nothing odd. Here the commands are found in the program, and the notes are messy.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from hocket_tools.commands.daemons.pair import START_S
from hocket_tools.main import app
from hocket_tools.pair.home import Home
from homes import running
from strict_json import value_of
from waiting import WAIT_S, until

pytestmark = [pytest.mark.programs, pytest.mark.timeout(START_S + 20 * WAIT_S)]

MESSY = {
    "quotes.md": '# The "Seal"\n\nThe boat is called \\"Seal\\"; its mooring is no. 17\\4.\n',
    "separators.txt": "The key\u2028lies under\u2029the blue\x85stone.\x0b\x0cNaN Infinity -Infinity null\n",
    "control.txt": "".join(map(chr, range(1, 32))) + " the bell\x7f rings \x9b at dawn\n",
    "ß ☃ 中文.md": "# Überfahrt 🙂\n\nDie Fähre kostet 14 €.\n",
    "line\nbreak \u2028.md": "The ferry leaves at nine.\n",
    "empty.md": "",
    "table.csv": 'name,"said"\nJo,"a ""b""\nc"\n',
    "no text.bin": "\x00\x01",
}
NOT_UTF_8 = b"caf\xe9.md"
COMPOSED = '{"version": 1, "text": "The ferry to Bright", "cursor": 19}\n{"version": 2, "te\u2028xt": 5}\n'


class Case(NamedTuple):
    """A command line behind the command's own words, its status, and what its last record has."""

    words: tuple[str, ...] = ()
    status: int = 0
    has: tuple[str, ...] = ()
    text: str = ""


SIDE = ("--side", "device")
ASKED = ("--seed", "5", "--temperature", "1", "--max-tokens", "24", "--unknown", "answer")
CASES: dict[str, tuple[Case, ...]] = {
    "ingest": (Case((*SIDE, "NOTES"), 1, ("added", "failures")), Case((*SIDE, "NOTES/quotes.md"), 0, ("unchanged",))),
    "ask": (
        Case((*ASKED, "--alone", "Where is the seal?"), 0, ("event", "text", "unsupported", "sources")),
        Case((*ASKED, "--quote", "--in", "NOTES", "Where is the key?"), 0, ("event", "quotes")),
        Case((*ASKED, "--mode", "dispatch", "--sources", "no", "What rings\u2028?"), 0, ("event", "device_tokens")),
        Case(("--mode", "auto", "--unknown", "say", "What is the fax number of the ferry?"), 0, ("event", "way")),
        Case(("--in", "/nowhere/\u2028", "Where?"), 0, ("event",)),
        Case(("--mode", "no such mode", "Where?"), 2, ("event", "code")),
        Case(("-",), 2, ("event", "remedy"), text="\n"),
    ),
    "compose": (Case(("--no-memory",), 0, ("event",), text=COMPOSED),),
    "explain": (Case((), 0, ("id", "record")), Case(("--list",), 0)),
    "documents": (
        Case(SIDE, 0, ("documents",)),
        Case((*SIDE, "--show", "separators.txt"), 0, ("text", "places")),
        Case((*SIDE, "--skipped"), 0, ("skipped",)),
        Case((*SIDE, "--remove", "NOTES/nothing\u2028.md"), 2, ("removed", "missing")),
    ),
    "search": (
        Case((*SIDE, "-n", "20", "key ferry seal bell"), 0, ("passages",)),
        Case((*SIDE, "?"), 0, ("passages",)),
    ),
    "status": (Case((), 0, ("daemons", "well")),),
    "top": (Case(("--once", "--every", "0.1"), 0, ("daemons",)),),
    "audit": tuple(Case(("--by", by), 0, ("rows",)) for by in ("day", "peer", "session", "key")),
    "profile": (Case(("--side", "device", "--offline", "--runs", "1"), 0, ("figures", "decode")),),
    "store move": (Case((*SIDE, "--to", "sqlite"), 2),),
    "graph show": (Case((), 0, ("subgraphs",)),),
    "graph shared": (Case((), 0, ("summaries",)),),
    "serve keys list": (Case(),),
    "keys list": (Case(),),
    "model list": (Case(),),
    "model show": (Case(("bundled",), 0, ("fingerprint",)),),
    "model check": (Case(("bundled", "--dtype", "float32"), 0),),
}
IN_SHORT = ("ingest", "ask", "search")  # their first cases, in every run; all together take long


def commands(group: Any = None, words: tuple[str, ...] = ()) -> Iterator[str]:
    """Every command that has --json as a flag."""
    command: Any = group or typer.main.get_command(app)
    for name, each in getattr(command, "commands", {}).items():
        yield from commands(each, (*words, name))
    if any("--json" in option.opts and option.is_flag for option in command.params):
        yield " ".join(words)


@pytest.fixture(scope="module")
def home(tiny_models: dict[str, Path]) -> Iterator[Home]:
    """A pair that runs, and beside its folder the notes."""
    with running(tiny_models) as home:
        notes = home.at.parent / "notes"
        notes.mkdir()
        for name, text in MESSY.items():
            (notes / name).write_text(text, encoding="utf-8")
        Path(os.fsdecode(os.path.join(os.fsencode(notes), NOT_UTF_8))).write_text("The café opens at eight.\n")
        yield home


def printed(home: Home, command: str, case: Case) -> tuple[int, list[str], str]:
    """The status, the lines of standard output as JSON's readers split them, and standard error."""
    words = [word.replace("NOTES", str(home.at.parent / "notes")) for word in case.words]
    done = subprocess.run(
        [sys.executable, "-m", "hocket_tools.main", *command.split(), "--json", *words],
        input=case.text.encode(),
        env=os.environ | {"HOCKET_HOME": str(home.at), "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=2 * WAIT_S,
        check=False,
    )
    return done.returncode, done.stdout.decode().splitlines(), done.stderr.decode(errors="replace")


def check(home: Home, command: str, cases: Sequence[Case]) -> None:
    """Each of these cases of a command keeps the law."""
    for case in cases:
        status, lines, complaint = printed(home, command, case)
        assert status == case.status, (case, complaint)
        assert "Traceback" not in complaint
        records = [value_of(line) for line in lines]
        assert bool(records) == (command != "store move"), case
        if case.has:
            assert set(case.has) <= set(records[-1]), case
        if command == "ask":
            assert records[-1]["event"] == ("error" if status else "done")


def test_every_command_with_json_is_known_here() -> None:
    """A new one needs a line above."""
    assert set(commands()) == set(CASES)


@pytest.mark.slow
@pytest.mark.parametrize("command", IN_SHORT)
def test_each_line_is_strict_json_and_the_last_one_the_result(home: Home, command: str) -> None:
    """In whatever encoding the terminal is."""
    check(home, command, CASES[command][:1])


@pytest.mark.slow
def test_words_that_no_passage_has_are_printed(home: Home) -> None:
    """An answer of an untrained model is full of them."""
    seed = str(random.Random(3).randrange(100))
    case = Case(("--alone", "--seed", seed, "--temperature", "2", "--unknown", "mark", "Where is the key?"))
    status, lines, complaint = printed(home, "ask", case)
    assert status == 0, complaint
    last = value_of(lines[-1])
    spans = last["unsupported"]
    assert spans
    assert all(set(span) == {"start", "end"} and last["text"][span["start"] : span["end"]] for span in spans)


@pytest.mark.slow
@pytest.mark.parametrize("command", CASES)
def test_so_is_each_line_of_all_cases_of_all_commands(home: Home, command: str) -> None:
    if command == "explain":
        check(home, "ask", CASES["ask"][:1])
        until(lambda: printed(home, command, Case())[0] == 0)  # a record is written behind the answer
    check(home, command, CASES[command])
