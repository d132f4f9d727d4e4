"""`hocket chat`: a conversation in the terminal, which goes on where it ended."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hocket_bus.errors import HocketError
from hocket_bus.messages import MAX_TOKENS
from hocket_tools.commands.asking.ask import ASKED, DRAWN, AskedHome, Documents, Known, Mode, Within

if TYPE_CHECKING:
    from hocket_bus.messages import Done
    from hocket_client import Chat, Client, Stream

EXAMPLE = """Examples:

hocket chat

hocket chat --new --alone"""
COMMANDS = """/sources  where the last answer comes from
/why      how it was produced
/alone    stop or resume asking the cloud
/new      forget this conversation and start another
/quit     leave; Ctrl-D does the same"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("chat", epilog=EXAMPLE)(chat)


def chat(
    *,
    mode: Mode = ASKED.mode,
    system: Annotated[
        str, typer.Option(metavar="TEXT", help="System prompt: an instruction for the whole conversation.")
    ] = "",
    alone: Annotated[bool, typer.Option("--alone", help="Ask this device only; /alone switches it.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Delete the last conversation and start a new one.")] = False,
    max_tokens: Annotated[
        int, typer.Option(min=1, max=MAX_TOKENS, help="Longest answer, in tokens.")
    ] = DRAWN.max_tokens,
    temperature: Annotated[
        float, typer.Option(min=0, max=10, help="Sampling temperature; 0 is greedy.")
    ] = DRAWN.temperature,
    documents: Documents = ASKED.documents,
    within: Within = None,
    unknown: Known = ASKED.unknown,
    endpoint: Annotated[
        str | None,
        typer.Option(help="Ask another daemon, for example tcp://laptop:7000; the conversation is then not saved."),
    ] = None,
    home: AskedHome = None,
) -> None:
    """Chat with the pair: a question may refer to earlier ones.

    The conversation is saved as chat.json in the pair's folder and continues there next time. The cloud gets only those
    earlier turns that it has read before; history under egress in device.toml changes that.

    Ctrl-C stops an answer, Ctrl-D ends the conversation. /help lists more commands.
    """
    from hocket_bus import paths
    from hocket_client import Client
    from hocket_tools.pair.home import Home
    from hocket_tools.pair.meant import folders_named, meant
    from hocket_tools.pair.saved_chat import saved_turns

    where, keys = meant(endpoint, home)
    file = None if endpoint or (home is None and paths.named_endpoint()) else Home.find(home).at / "chat.json"
    options: dict[str, Any] = {"mode": mode, "system": system, "max_tokens": max_tokens, "temperature": temperature}
    options |= {"documents": documents, "within": folders_named(within), "unknown": unknown}
    with Client(where, keys=keys) as client:
        turns = [] if new or file is None else saved_turns(file)
        Conversation(client, options, file, turns, alone=alone).run()


class Conversation:
    """A conversation in the terminal: lines from a person, or from a file, are answered until there are no more."""

    def __init__(
        self, client: Client, options: dict[str, Any], file: Path | None, turns: list[Any], *, alone: bool
    ) -> None:
        """Begin a conversation whose turns are stored in `file`; None stores them nowhere."""
        from hocket_tools import console

        self._client = client
        self._options = options
        self._file = file
        self._alone = alone
        self._done: Done | None = None
        self._out, self._err = console.out(), console.err()
        self._chat = self._begin(turns)
        self._said: dict[str, Callable[[], None]] = {
            "/sources": self._sources,
            "/why": self._why,
            "/alone": self._turn_alone,
            "/new": self._anew,
            "/help": lambda: self._note(COMMANDS),
        }

    def run(self) -> None:
        """Answer lines until the input ends, or until a line is /quit."""
        if turns := len(self._chat.turns):
            self._note(f"continuing after {turns} turn{'' if turns == 1 else 's'}; /new forgets them")
        while (line := self._line()) is not None and line != "/quit":
            if line in self._said:
                self._said[line]()
            elif line.startswith("/"):
                self._note(f"unknown command {line.split()[0]}; /help lists all")
            elif line:
                self._ask(line)

    def _begin(self, turns: list[Any]) -> Chat[Stream]:
        return self._client.chat(**self._options, alone=self._alone, turns=turns)

    def _line(self) -> str | None:
        """Return the next line, None at the end of the input, or an empty line on Ctrl-C."""
        prompt = "> " if sys.stdin.isatty() else ""
        if prompt:
            import readline  # noqa: F401 - gives `input` its keys and its history
        try:
            return input(prompt).strip()
        except EOFError:
            if prompt:
                self._out.print()
            return None
        except KeyboardInterrupt:
            self._note("\nCtrl-D, or /quit, leaves")
            return ""

    def _ask(self, question: str) -> None:
        """Print one answer and store the turns; an error or Ctrl-C ends the answer, and the conversation goes on."""
        from hocket_tools import console
        from hocket_tools.commands.asking.ask import print_answer

        stream = self._chat.ask(question)
        try:
            self._done = print_answer(stream)
            for line in console.unsupported(self._done):
                self._note(line)
            self._err.print(f"[dim]{console.summary(self._done)}[/dim]")
            self._keep()
        except KeyboardInterrupt:
            stream.cancel()
            self._note("\nleft")
        except HocketError as error:
            self._note(str(error))

    def _keep(self) -> None:
        from hocket_tools.pair.saved_chat import save_turns

        if self._file is not None:
            save_turns(self._file, self._chat.turns)

    # --- what begins with a stroke

    def _sources(self) -> None:
        from hocket_tools import console

        lines = console.sources(self._done) if self._done else ["no answer yet"]
        for line in lines:
            self._note(line)

    def _why(self) -> None:
        from hocket_daemon.serving.records.decisions import DecisionRecord
        from hocket_tools.commands.asking.explain import show

        if self._done is None:
            self._note("no answer yet")
            return
        try:
            show(DecisionRecord(**self._client.explain(self._done.request)))
        except HocketError as error:
            self._note(str(error))

    def _turn_alone(self) -> None:
        self._alone = not self._alone
        self._chat = self._begin(self._chat.turns)
        self._note("asking this device only" if self._alone else "asking the cloud, too")

    def _anew(self) -> None:
        self._chat.forget()
        if self._file is not None:
            self._file.unlink(missing_ok=True)
        self._note("forgotten")

    def _note(self, text: str) -> None:
        from hocket_tools import console

        self._err.print(console.printable(text), style="dim", markup=False, highlight=False)
