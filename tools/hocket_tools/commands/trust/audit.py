"""`hocket audit`: how much left the device, by class of data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from hocket_daemon.privacy.egress import Entry

By = Literal["day", "peer", "session", "key", "document"]
NONE = "-"  # what belongs to no session, or to one of no key


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("audit", epilog="Example: hocket audit --by session --json")(audit)


def audit(
    *,
    by: Annotated[
        By,
        typer.Option(
            help="One row per day, per peer, per session, or per key of a person; or per document, with the bits that "
            'answers disclosed of it (with drafts = "words" under egress).'
        ),
    ] = "day",
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ledger to read; default: the one that device.toml names.")
    ] = None,
    home: Annotated[Path | None, typer.Option(metavar="PATH", help="The pair's folder.", envvar="HOCKET_HOME")] = None,
    json_object: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show how many bytes left the device for the cloud, by class of data; the last few seconds may be missing.

    Messages are counted before encryption. What belongs to the connection and to no session (greetings, pings) has the
    session "-". The key is known for requests that `hocket explain` has records of; all else has the key "-".
    """
    from hocket_daemon.privacy.egress import read
    from hocket_tools import console
    from hocket_tools.commands.trust.documents_audit import audit_documents
    from hocket_tools.pair.home import Home

    if ledger and by == "key":
        raise typer.BadParameter("a ledger file has no keys: leave out --ledger", param_hint="--by")
    path = ledger or Home.find(home).ledger()
    entries = _named(ledger) if ledger else read(path)
    if by == "document":
        audit_documents(path, json_object=json_object)
        return
    if by == "key":
        keys = _keys(Home.find(home).decisions("device"))
        rows = _sums((keys.get(each.session, NONE), each) for each in entries)
    else:
        rows = _sums((getattr(each, by) or NONE, each) for each in entries)
    if json_object:
        records = [{by: name, "bytes": sizes, "total": sum(sizes.values())} for name, sizes in rows.items()]
        console.print_json({"ledger": path, "rows": records})
    elif rows:
        _show(rows, by)
    else:
        typer.echo(console.for_people(f"nothing has left yet, by {path}", console.out()))


def _named(ledger: Path) -> list[Entry]:
    """Return the entries of a ledger that the user has named and that must exist. Raises BadParameter, Unavailable."""
    from hocket_bus.errors import Unavailable
    from hocket_daemon.privacy.egress import read

    if not ledger.exists():
        raise typer.BadParameter(f"{ledger} does not exist", param_hint="--ledger")
    try:
        return read(ledger)
    except Unavailable as error:
        raise Unavailable(error.text, "name the file of [egress] ledger in a device.toml") from error


def _keys(path: Path) -> dict[str, str]:
    """Return the person's key that each session was for, by session, as far as records say. Raises Unavailable."""
    from hocket_daemon.serving.records.decisions import MAX_RECORDS, last

    if not path.exists():
        return {}
    records = [each.record for each in last(path, MAX_RECORDS)]
    return {
        session: record["asked by"]
        for record in records
        if record.get("asked by")
        for session in record.get("sessions", [])
    }


def _sums(entries: Iterable[tuple[str, Entry]]) -> dict[str, dict[str, int]]:
    """Return each row's bytes by class, in the order of the ledger; each entry comes with the name of its row."""
    rows: dict[str, dict[str, int]] = defaultdict(dict)
    for name, entry in entries:
        sizes = rows[name]
        sizes[entry.kind] = sizes.get(entry.kind, 0) + entry.size_bytes
    return rows


def _show(rows: dict[str, dict[str, int]], by: By) -> None:
    from rich.table import Table
    from rich.text import Text

    from hocket_tools import console

    classes = sorted({kind for sizes in rows.values() for kind in sizes})
    table = Table(by, box=None, pad_edge=False)
    for name in (*classes, "bytes"):
        table.add_column(name, justify="right")
    for name, sizes in rows.items():
        table.add_row(
            Text(console.one_line(name)), *(f"{sizes.get(kind, 0):,}" for kind in classes), f"{sum(sizes.values()):,}"
        )
    if len(rows) > 1:
        totals = [sum(sizes.get(kind, 0) for sizes in rows.values()) for kind in classes]
        table.add_row("all", *(f"{total:,}" for total in totals), f"{sum(totals):,}")
    console.out().print(table)
