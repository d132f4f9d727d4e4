"""`hocket bench`: the benchmarks; each writes JSON, prints a table and its claims, and draws a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Measure: each benchmark writes JSON, prints a table and its claims, and draws a picture. "
    "A run that was interrupted goes on where it stopped when it is started with equal settings and --json FILE.",
    epilog="Example: hocket bench answers --json answers.json",
    no_args_is_help=True,
)
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write everything measured to FILE.")]
Data = Annotated[Path, typer.Option(metavar="PATH", help="Folder of the corpora.")]
DATA = Path("../shared/data")


@app.command(epilog="Example: hocket bench answers --json answers.json")
def answers(
    json_path: Json = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="Longest answer, in tokens.")] = 64,
    documents: Annotated[int, typer.Option(min=1, help="Passages that each side reads.")] = 2,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many questions.")] = None,
) -> None:
    """Is the pair right where one side alone is wrong? 40 questions for each side and 40 that need both."""
    from hocket_tools.bench.answers import run

    _leave(run(json_path, max_tokens, documents, limit))


@app.command(
    epilog="Example: hocket bench aggregation --rtt 0,100,300 --systems sync,sync-both,coupled --json agg.json"
)
def aggregation(
    *,
    rtt: Annotated[str, typer.Option(help="Round trips to emulate, ms.")] = "0,100,300",
    systems: Annotated[str, typer.Option(help="Ways to aggregate.")] = "sync,sync-both,coupled",
    hold: Annotated[str, typer.Option(help="Least time of a forward pass, ms; 0: as fast as it is.")] = "25,0",
    prompts: Annotated[int, typer.Option(min=2, help="How many of the fixed prompts.")] = 30,
    tokens: Annotated[int, typer.Option(min=2, help="Tokens per prompt.")] = 20,
    temperature: Annotated[float, typer.Option(min=0, help="1: as the targets are stated.")] = 1.0,
    documents: Annotated[int, typer.Option(min=1, help="Passages that each side reads.")] = 2,
    data: Data = DATA,
    json_path: Json = None,
) -> None:
    """Time per token and to the first token over emulated round trips, against both sides alone."""
    from hocket_bus.errors import BadRequest
    from hocket_bus.messages import AGGREGATIONS
    from hocket_tools.bench.aggregation import Settings, run

    chosen = systems.split(",")
    unknown = [system for system in chosen if system not in AGGREGATIONS]
    if unknown:
        raise BadRequest(f"unknown system '{unknown[0]}'", f"use some of: {', '.join(AGGREGATIONS)}")
    settings = Settings(
        rtts_ms=[round(value) for value in _numbers(rtt, "--rtt")],
        systems=chosen,
        hold_ms=_numbers(hold, "--hold"),
        prompts=prompts,
        tokens=tokens,
        temperature=temperature,
        documents=documents,
        corpus_articles=400,
        seed=1,
    )
    _leave(run(data, settings, json_path))


@app.command(epilog="Example: hocket bench overhead --json overhead.json")
def overhead(
    json_path: Json = None,
    tokens: Annotated[int, typer.Option(min=10, help="Tokens to time.")] = 500,
) -> None:
    """Cost of bus and aggregation per token, without any model."""
    from hocket_tools.bench.overhead import run

    _leave(run(json_path, tokens))


def _numbers(text: str, option: str) -> list[float]:
    from hocket_bus.errors import BadRequest

    try:
        values = [float(word) for word in text.split(",")]
    except ValueError as error:
        raise BadRequest(f"{option} takes numbers separated by commas, not '{text}'", "e.g. 0,100,300") from error
    if min(values) < 0:
        raise BadRequest(f"{option} takes numbers of at least 0", "e.g. 0,100,300")
    return values


def _leave(every_claim_holds: bool) -> None:
    if not every_claim_holds:
        raise typer.Exit(1)
