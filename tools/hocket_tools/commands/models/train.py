"""`hocket train`: a model learns from documents of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hocket_tools.interrupted import leaving

app = typer.Typer(help="Let a device's model learn from documents of your own.", no_args_is_help=True)


def register(hocket: typer.Typer) -> None:
    """Add the commands."""
    hocket.add_typer(app, name="train")


@app.callback()
def train() -> None:
    """Keep `composition` a command of its own."""


@app.command(epilog="Example: hocket train composition --data ~/texts --out tuned --lora --model smollm2")
def composition(
    *,
    data: Annotated[Path, typer.Option(metavar="FOLDER", help="Documents: .txt, .md, WikiText's wiki.train.tokens.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Gets the weights; a run that was killed goes on.")],
    model: Annotated[str, typer.Option(help="bundled, smollm2, or a folder.")] = "bundled",
    lora: Annotated[bool, typer.Option("--lora", help="Train an adapter of a few megabytes, not the model.")] = False,
    labels: Annotated[
        str,
        typer.Option(
            metavar="own|supported|URL",
            help="What is to follow a text: its document's own words, those of them that memory supports, "
            "or what the large model behind OpenAI's API at URL writes.",
        ),
    ] = "own",
    labels_model: Annotated[str, typer.Option(metavar="NAME", help="The large model's name there.")] = "",
    labels_key: Annotated[Path | None, typer.Option(metavar="FILE", help="A file with nothing but its key.")] = None,
    steps: Annotated[
        int, typer.Option(min=1, help="Of eight examples each, or four with --lora; each is learned from twice.")
    ] = 300,
    seed: Annotated[int, typer.Option(min=0, help="Draws the examples.")] = 0,
) -> None:
    """Teach a model to go on with texts that are typed, with the memory that composition gives it.

    The weights come to OUT/weights. Nothing leaves this machine, but for texts and memory with --labels URL.
    """
    from hocket_tools.train.composition import Settings, train

    settings = Settings(model=model, lora=lora, labels=labels, server_model=labels_model, steps=steps, seed=seed)
    with leaving(f"stopped: the same command goes on with what is in {out}"):
        train(data, out, settings, labels_key)
