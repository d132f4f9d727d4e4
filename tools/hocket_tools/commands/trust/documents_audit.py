"""`hocket audit --by document`: how many bits of each document the words of answers disclosed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hocket_daemon.privacy.disclosure_account import DocumentDisclosed

NOT_COUNTED = (
    "Not counted: your questions, how much each side's passages weigh, lengths and times, earlier turns that [egress] "
    "history sends, and what the cloud reads of an answer of --mode dispatch if the device fails while it writes it."
)
NOTHING = 'nothing is counted yet; bits are counted with drafts = "words" under [egress] of device.toml'


def audit_documents(path: Path, *, json_object: bool) -> None:
    """Print the account in the ledger at `path`. Raises Unavailable."""
    import typer

    from hocket_bus.messages import MAX_DAYS
    from hocket_daemon.privacy.budget import today
    from hocket_daemon.privacy.disclosure_account import by_day, by_document, read
    from hocket_tools import console

    entries = read(path)
    rows, days = by_document(entries, today()), by_day(entries, MAX_DAYS)
    if json_object:
        documents = [row._asdict() for row in rows]
        console.print_json({"ledger": path, "rows": documents, "days": days, "not_counted": NOT_COUNTED})
    elif rows:
        _show(rows)
        typer.echo(f"Bits of all documents by day: {', '.join(f'{day} {bits:.1f}' for day, bits in days.items())}.")
        typer.echo(NOT_COUNTED)
    else:
        typer.echo(NOTHING)


def _show(rows: Iterable[DocumentDisclosed]) -> None:
    from rich.table import Table
    from rich.text import Text

    from hocket_tools import console

    table = Table("document", box=None, pad_edge=False)
    for name in ("bits today", "bits in all"):
        table.add_column(name, justify="right")
    for name in ("learnt by", "last"):
        table.add_column(name)
    for row in rows:
        peers = ", ".join(f"{peer} {bits:.1f}" for peer, bits in row.peers.items())
        document = Text(console.one_line(row.document))
        table.add_row(document, f"{row.today:.1f}", f"{row.total:.1f}", Text(console.one_line(peers)), row.last)
    console.out().print(table)
