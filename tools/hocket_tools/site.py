"""The pages of `make docs`: those of the repository where they lie, and one of all commands. Run at the root."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import typer
from typer.core import TyperGroup, TyperOption

from hocket_tools.main import app

CONFIGURATION = Path("docs/site/zensical.toml")
BUILD = Path("build/docs")
COMMANDS = Path("docs/commands.md")  # within the pages, and nowhere else
SHOWN = ("*.md", "*.svg", "*.png")
ELSEWHERE = ("tools", "gateway", "retrieval", "tests")  # samples and icons, no pages
INTRODUCTION = "# Commands\n\nWhat `--help` says of every command.\n"


def main() -> None:
    """Lay the pages out anew."""
    shutil.rmtree(BUILD, ignore_errors=True)
    pages = BUILD / "pages"
    for path in shown():
        (pages / path.parent).mkdir(parents=True, exist_ok=True)
        shutil.copy(path, pages / path)
    (pages / COMMANDS).write_text(commands(), encoding="utf-8")
    shutil.copy(CONFIGURATION, BUILD)


def shown() -> list[Path]:
    """The pages of the repository, and their pictures."""
    listed = subprocess.run(["git", "ls-files", "-z", *SHOWN], capture_output=True, check=True, text=True)
    paths = [Path(name) for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.parts[0] not in ELSEWHERE]


def commands() -> str:
    """The page of all commands."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    return INTRODUCTION + "".join(_sections(group, "hocket"))


def _sections(group: TyperGroup, name: str) -> Iterator[str]:
    for each, command in sorted(group.commands.items()):
        full = f"{name} {each}"
        if isinstance(command, TyperGroup):
            yield from _sections(command, full)
            continue
        context = typer.Context(command, info_name=full)
        usage = " ".join([full, *command.collect_usage_pieces(context)])
        options = [option for option in command.params if isinstance(option, TyperOption) and not option.hidden]
        rows = [f"| `{', '.join(option.opts)}` | {_cell(option.help or '')} |\n" for option in options]
        table = "\n| option | what it does |\n| --- | --- |\n" + "".join(rows) if rows else ""
        yield f"\n## {full}\n\n{_text(command.help or '')}\n\n```\n{usage}\n```\n{table}"


def _text(help: str) -> str:
    return "\n".join(line.strip() for line in help.replace("\b", "").splitlines()).strip()


def _cell(help: str) -> str:
    return " ".join(help.split()).replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    main()
