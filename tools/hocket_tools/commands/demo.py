"""`hocket demo`: a pair in a temporary folder answers one question that needs both sides."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import typer

from hocket_tools.commands.pair import START_S, StartWait


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo", epilog="Example: hocket demo")(demo)


def demo(wait: StartWait = START_S) -> None:
    """Start a pair, let both sides read sample documents, ask a question that needs both, stop everything.

    Fails when the answer lacks what the documents say.
    """
    from hocket_tools import console
    from hocket_tools.commands.ask import ask_people
    from hocket_tools.commands.documents import read_in
    from hocket_tools.commands.pair import start
    from hocket_tools.pair.temporary import temporary_home

    err = console.err()
    samples = resources.files("hocket_tools") / "demo"
    first = json.loads((samples / "questions.json").read_text(encoding="utf-8"))[0]
    with temporary_home() as pair:
        err.print("starting two models and two retrieval daemons on this machine")
        start(pair, wait)
        for side in ("device", "cloud"):
            with resources.as_file(samples / side) as folder:
                ingested = read_in(pair.endpoint(f"{side}-retrieval"), [Path(folder)])
            err.print(f"the {side} has read {ingested.added} documents ({ingested.chunks} passages)")
        err.print(f"\n[bold]{first['question']}[/bold]\n")
        options: dict[str, Any] = {"temperature": 0.0, "require_cloud": True}
        done = ask_people(pair.endpoint("device"), first["question"], options)
    lacking = [value for value in first["expect"] if value not in done.text]
    if lacking:
        err.print(f"hocket: the answer lacks {', '.join(lacking)}: the bundled models misread; please report this")
        raise typer.Exit(1)
