"""`hocket train`: a model learns from documents of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hocket_tools.interrupted import leaving

app = typer.Typer(help="Train a device's model on documents of your own.", no_args_is_help=True)


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
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the weights; a run that was killed resumes.")],
    model: Annotated[str, typer.Option(help="bundled, smollm2, or a folder.")] = "bundled",
    lora: Annotated[bool, typer.Option("--lora", help="Train an adapter of a few megabytes, not the model.")] = False,
    labels: Annotated[
        str,
        typer.Option(
            metavar="own|supported|URL",
            help="What a text is trained to continue with: its document's own words, those of them that "
            "memory supports, or what the large model at URL (OpenAI's API) writes.",
        ),
    ] = "own",
    labels_model: Annotated[str, typer.Option(metavar="NAME", help="Name of the large model at URL.")] = "",
    labels_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File that holds only the API key for URL.")
    ] = None,
    steps: Annotated[
        int,
        typer.Option(
            min=1, help="Training steps, of eight examples each, or four with --lora; each example is used twice."
        ),
    ] = 300,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for the choice of examples.")] = 0,
) -> None:
    """Train a model to continue text as it is typed, using the memory that composition gives it.

    The weights are written to OUT/weights. Nothing leaves this machine, except texts and memory with --labels URL.
    """
    from hocket_tools.train.composition import Settings, train

    settings = Settings(model=model, lora=lora, labels=labels, server_model=labels_model, steps=steps, seed=seed)
    with leaving(f"stopped: the same command resumes from {out}"):
        train(data, out, settings, labels_key)
