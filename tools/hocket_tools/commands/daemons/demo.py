"""`hocket demo`: a pair in a temporary folder answers a question of each side's, and one that each has a part of."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from hocket_tools.commands.daemons.pair import START_S, StartWait

if TYPE_CHECKING:
    from hocket_tools.pair.home import Home


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo", epilog="Example: hocket demo")(demo)


def demo(wait: StartWait = START_S) -> None:
    """Start a pair, let both sides read sample documents, ask three questions, stop everything.

    Only the device has the documents for the first question, only the cloud those for the second, and each a part of
    those for the third. Fails if an answer lacks what the documents say.
    """
    from hocket_tools import console
    from hocket_tools.commands.daemons.pair import start
    from hocket_tools.commands.library.documents import read_in
    from hocket_tools.pair.temporary import temporary_home

    err = console.err()
    samples = resources.files("hocket_tools") / "demo"
    with temporary_home() as pair:
        err.print("starting two models and two retrieval daemons on this machine")
        model = next(state.facts["model"] for state in start(pair, wait) if state.name == "device")
        err.print(f"both sides: {_described(model)}", markup=False)
        for side in ("device", "cloud"):
            with resources.as_file(samples / side) as folder:
                ingested = read_in(pair.endpoint(f"{side}-retrieval"), [Path(folder)])
            err.print(f"the {side} has read {ingested.added} documents ({ingested.chunks} passages)")
        by_model = json.loads((samples / "asked.json").read_text(encoding="utf-8"))
        asked = by_model.get(model, by_model["larger"])
        lacking = [value for each in asked for value in _lacking(pair, each)]
    if lacking:
        err.print(f"hocket: an answer lacks {', '.join(lacking)}: the model misread; please report this")
        raise typer.Exit(1)


def _described(model: str) -> str:
    from hocket_daemon.engine.backends.automatic import advice, resolved
    from hocket_daemon.engine.catalog.catalogue import CATALOGUE
    from hocket_daemon.engine.settings import AUTO

    if model in CATALOGUE:
        better = advice(AUTO) if resolved(AUTO) == model else ""
        return "; ".join(filter(None, (f"{CATALOGUE[model].title}, {CATALOGUE[model].licence}", better)))
    return f"the bundled models, Apache-2.0; {advice(AUTO)}"


def _lacking(pair: Home, asked: dict[str, Any]) -> list[str]:
    """Ask a sample question and return the expected values that the answer lacks."""
    from hocket_tools import console
    from hocket_tools.commands.asking.ask import ask_people

    console.err().print(f"\n[bold]{asked['question']}[/bold]\n")
    options: dict[str, Any] = {"temperature": 0.0, "require_cloud": True}
    done = ask_people(pair.endpoint("device"), asked["question"], options)
    return [value for value in asked["expect"] if value not in done.text]
