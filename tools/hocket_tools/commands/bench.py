"""`hocket bench`: the benchmarks; each writes JSON, prints a table and its claims, and draws a picture."""

from __future__ import annotations

import typer

app = typer.Typer(
    help="Measure: each benchmark writes JSON, prints a table and its claims, and draws a picture.",
    epilog="Example: hocket bench link --json link.json",
    no_args_is_help=True,
)
