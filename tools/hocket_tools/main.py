"""The command `hocket`: gathers the commands and turns every error into one line and an exit status.

Status: 0 done, 1 failed, 2 wrong usage, 69 something needed is not there, 78 bad configuration, 130 Ctrl-C,
141 whoever read the output has left.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.exceptions import Abort, TyperException

from hocket_bus import log
from hocket_bus.errors import BadConfiguration, BadRequest, HocketError, Unavailable
from hocket_bus.missing import ALL, lack
from hocket_bus.visible import visible_line
from hocket_tools.commands.asking import ask, chat, compose, explain, forget, lsp, mcp
from hocket_tools.commands.daemons import alone, demo, gateway, machines, pair, serve, top
from hocket_tools.commands.library import documents, graph, search, store, watch
from hocket_tools.commands.models import model, profile, train
from hocket_tools.commands.trust import audit, keys, members
from hocket_tools.laboratory import add_commands
from hocket_tools.pair.hints import shortened_in
from hocket_tools.terminal import guard_terminal

FAILED, USAGE, UNAVAILABLE, CONFIGURATION, INTERRUPTED, UNREAD = 1, 2, 69, 78, 130, 141

app = typer.Typer(
    help="A laptop and a GPU server answer as one: two language models, two sets of documents, one stream of tokens.",
    epilog='Start with: hocket up, then: hocket ask "When is the dentist appointment?"',
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@contextmanager
def shown_under(task: str) -> Iterator[None]:
    """Show the commands that are added within the context under this heading of the app's help."""
    commands, groups = len(app.registered_commands), len(app.registered_groups)
    yield
    for command in app.registered_commands[commands:]:
        command.rich_help_panel = task
    for group in app.registered_groups[groups:]:
        group.rich_help_panel = task


TASKS = {
    "Begin": (demo,),
    "Ask and write": (ask, chat, compose, lsp, mcp, explain, forget),
    "Documents": (documents, watch, search, store, graph),
    "Other programs": (gateway,),
    "The pair": (pair, alone, machines, keys, members),
    "Models": (model, train),
    "Look": (top, audit, profile),
    "One daemon in the foreground": (serve,),
}
for task, rooms in TASKS.items():
    with shown_under(task):
        for room in rooms:
            room.register(app)
with shown_under("Laboratory"):
    add_commands(app)


@app.callback(invoke_without_command=True)
def overview(
    context: typer.Context, version: bool = typer.Option(False, "--version", help="Print the version and exit.")
) -> None:
    """Print the help where no command is given."""
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"hocket {installed('hocket')}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """The entry point: runs the command line of this process and leaves with its status."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit status."""
    guard_terminal()
    log.setup("error")  # what a command meets it says itself
    try:
        result = app(arguments, prog_name="hocket", standalone_mode=False)
    except TyperException as error:
        if error.format_message():  # a group without its command has shown its help instead
            complain(f"{error.format_message().rstrip('.')}: {_remedy(error, _command(arguments))}")
        return error.exit_code
    except (HocketError, ImportError) as error:
        failure = error if isinstance(error, HocketError) else BadConfiguration(*lack("hocket", "", ALL, error))
        complain(str(failure))
        return status_of(failure)
    except SystemExit as left:  # so typer and rich answer a reader that left
        if not isinstance(left.__context__, BrokenPipeError):
            raise
        return UNREAD
    except (OSError, UnicodeEncodeError) as error:
        complain(_of_system(error))
        return FAILED
    except (KeyboardInterrupt, Abort):
        return INTERRUPTED
    return result if isinstance(result, int) else 0


def _remedy(error: TyperException, command: str) -> str:
    """Return what to do about wrong usage of a command; an argument that was written as an option is named."""
    name, context = getattr(error, "option_name", "").lstrip("-"), getattr(error, "ctx", None)
    if context is not None and any(each.name == name for each in context.command.params):
        return f"write its value without --{name}; see hocket {command}--help"
    return f"see hocket {command}--help"


def status_of(error: HocketError) -> int:
    """The exit status that tells a program what kind of error it was."""
    kinds = ((BadRequest, USAGE), (BadConfiguration, CONFIGURATION), (Unavailable, UNAVAILABLE))
    return next((status for kind, status in kinds if isinstance(error, kind)), FAILED)


def _of_system(error: OSError | UnicodeEncodeError) -> str:
    """Return the line for an error of the system; on a full disk the remaining output is given up."""
    if isinstance(error, UnicodeEncodeError):
        return f"{error.object!a} is not valid UTF-8: rename it"
    if error.errno == errno.ENOSPC and not error.filename:
        _give_up_output()
        return "the disk is full: make room, or write elsewhere"
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def _give_up_output() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        sys.stdout = None  # the interpreter must not try once more


def complain(text: str) -> None:
    """Print one line on standard error, with paths shortened on a terminal."""
    line = visible_line(" ".join(text.split()))
    sys.stderr.write(f"hocket: {shortened_in(line) if sys.stderr.isatty() else line}\n")


def _command(arguments: list[str]) -> str:
    """Return the words that name the command, with a blank after them; empty when there is no such command."""
    level: Any = typer.main.get_command(app)
    names = []
    for word in arguments:
        level = getattr(level, "commands", {}).get(word)
        if level is None:
            break
        names.append(word + " ")
    return "".join(names)


if __name__ == "__main__":
    main()
