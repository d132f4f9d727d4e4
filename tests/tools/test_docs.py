"""Laws of the documentation: what it tells people to type exists."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from hocket_tools.main import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(ROOT.glob("docs/*.md")),
    *sorted(ROOT.glob("lab/**/*.md")),
]
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def calls(page: Path) -> list[list[str]]:
    """Every call of hocket in a code block or in backquotes, as words."""
    text = page.read_text(encoding="utf-8")
    lines = re.findall(r"(?m)^hocket .*$", text) + re.findall(r"`(hocket [^`]+)`", text)
    return [shlex.split(line.replace("…", "x"), comments=True) for line in lines]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_call_of_hocket_names_a_command_and_its_options(page: Path) -> None:
    """Commands and long options in the pages are those of the program."""
    for words in calls(page):
        command = COMMANDS.get(words[1])
        assert command is not None, words
        for word in words[2:]:
            command = getattr(command, "commands", {}).get(word, command)
        known = {
            option
            for parameter in command.get_params(typer.Context(command))
            for option in (*parameter.opts, *parameter.secondary_opts)
        }
        used = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert used <= known, words


def test_the_pages_hold_calls() -> None:
    """The search above finds something."""
    assert sum(len(calls(page)) for page in PAGES) > 20


def test_every_make_target_in_the_pages_exists() -> None:
    """`make x` in a page is a target of the Makefile."""
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
    for page in PAGES:
        used = re.findall(r"(?m)^make ([a-z-]+)|`make ([a-z-]+)`", page.read_text(encoding="utf-8"))
        assert {first or second for first, second in used} <= targets
