"""`hocket explain`: what a daemon decided for a request, from which figures, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from hocket_daemon.serving.records.decisions import DecisionRecord

EXAMPLE = "Examples: hocket explain, for the latest answer; hocket explain 3f2a; hocket explain --list"
LISTED = 20


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain", epilog=EXAMPLE)(explain)


def explain(
    number: Annotated[
        str, typer.Argument(metavar="[ID]", help="ID of the request, or its first characters; default: the latest.")
    ] = "",
    *,
    side: Annotated[
        Literal["device", "cloud"], typer.Option(help="Whose record; the cloud's records have other IDs.")
    ] = "device",
    listing: Annotated[bool, typer.Option("--list", help=f"List the latest {LISTED} requests.")] = False,
    home: Annotated[Path | None, typer.Option(metavar="PATH", help="The pair's folder.", envvar="HOCKET_HOME")] = None,
    json_object: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Explain an answer: how the sides wrote it, what was found and how it was weighed, and where the time went.

    A daemon keeps records of its latest requests in the file that `decisions` in its configuration names. The device's
    records contain the question; the cloud's contain no text.
    """
    from hocket_daemon.serving.records import decisions
    from hocket_tools import console
    from hocket_tools.pair.home import Home

    path = Home.find(home).decisions(side)
    if listing:
        _list(decisions.last(path, LISTED), json_object)
        return
    found = decisions.named(path, number) if number else next(iter(decisions.last(path, 1)), None)
    if json_object:
        console.print_json(found)  # null where nothing is recorded
    elif found is None:
        typer.echo(console.for_people(f"nothing is recorded in {path}", console.out()))
    else:
        show(found)


def _list(found: list[DecisionRecord], json_object: bool) -> None:
    from hocket_tools import console

    if json_object:
        console.print_json(found)
        return
    names = ("ended", "tokens", "asked by", "question")
    table = _table("ID", "at", "mode", *names)
    for each in found:
        *facts, question = (str(each.record.get(name, "")) for name in names)
        _add_row(table, [each.id[:8], _time(each), each.mode, *facts, " ".join(question.split())[:60]])
    console.out().print(table)


def show(found: DecisionRecord) -> None:
    """Print a record for people: names and values in lines, and each list of records as a table."""
    from hocket_tools import console

    out, record = console.out(), found.record
    out.print(f"[bold]{found.id[:8]}[/bold]  {_time(found)}  {found.mode}")
    width = max(map(len, record), default=0)
    for name, value in record.items():
        if not _is_table(value):
            words = console.printable(_words(value))
            out.print(f"  {name:{width}}  {words}", markup=False, highlight=False)
    for name, value in record.items():
        if _is_table(value):
            table = _table(*value[0])
            for row in value:
                _add_row(table, (console.for_people(_words(each), out) for each in row.values()))
            out.print(f"\n[bold]{name}[/bold]")
            out.print(table)
    if "parts" in record:
        out.print("\neach part was asked by itself, and has a record of its own: hocket explain ID", markup=False)


def _table(*columns: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in columns:
        table.add_column(name)
    return table


def _add_row(table: Table, texts: Iterable[str]) -> None:
    """Add a row of texts without markup, since a question or a document's name may look like a style."""
    from rich.text import Text

    from hocket_tools import console

    table.add_row(*(Text(console.printable(text)) for text in texts))


def _time(found: DecisionRecord) -> str:
    return found.at.replace("T", " ")[:19]


def _is_table(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _words(value: Any) -> str:  # noqa: ANN401 - whatever JSON has
    """A value in words: a record as its names and values, a number to four places, or to three digits if small."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_words(each)}" for name, each in value.items())
    if isinstance(value, float) and 0 < abs(value) < 0.001:
        return f"{value:.3g}"
    if isinstance(value, float):
        return f"{value:.4f}".rstrip("0").rstrip(".")
    return "–" if value is None or value == [] else str(value)
