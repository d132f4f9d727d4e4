"""`hocket ingest` and `hocket documents`: what each side has read."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hocket_tools.interrupted import leaving
from hocket_tools.pair.hints import home_flag

if TYPE_CHECKING:
    from hocket_bus.messages import Document, Ingested, Progress
    from hocket_tools.caller import Caller

Side = Annotated[Literal["device", "cloud"], typer.Option(help="Whose documents: private ones belong on the device.")]
Endpoint = Annotated[str | None, typer.Option(help="Retrieval daemon to use; default: that of this machine's pair.")]
Home = Annotated[Path | None, typer.Option(metavar="PATH", help="The pair's folder.", envvar="HOCKET_HOME")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
SILENCE_S = 600.0  # a job may wait behind another one; the link itself is watched every second


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("ingest", epilog="Example: hocket ingest --side device ~/notes report.pdf")(ingest)
    app.command("documents", epilog="Example: hocket documents --side device --remove ~/notes/old.md")(documents)


def ingest(
    side: Side,
    names: Annotated[
        list[str],
        typer.Argument(metavar="PATH…", help="Files and folders: notes, pdf, office, mail, code."),
    ],
    endpoint: Endpoint = None,
    home: Home = None,
    json_object: Json = False,
) -> None:
    """Read files into a side's documents; unchanged files are skipped.

    When a folder is read again, documents whose files are gone or empty are removed.

    Run it again after an interruption to resume. Files that cannot be read are listed, and the others are ingested;
    the exit status is then 1. Empty files, linked folders and files of unknown types in a folder are skipped.
    """
    from hocket_bus import paths
    from hocket_bus.endpoints import is_tcp
    from hocket_bus.messages.retrieval import MAX_PATHS

    _check_names(names, "PATH")
    if len(names) > MAX_PATHS:
        raise typer.BadParameter(f"over {MAX_PATHS:,} names: name their folder", param_hint="PATH")
    files = [Path(name) for name in names]
    elsewhere = endpoint is not None and is_tcp(endpoint)  # paths are those of the daemon's machine
    missing = [str(path) for path in files if not paths.expanded(path).exists()]
    if missing and not elsewhere:
        raise typer.BadParameter(f"{missing[0]} does not exist", param_hint="PATH")
    with leaving(_going_on(side, names, endpoint, home)):
        ingested = read_in(endpoint_of(side, endpoint, home), files, paths.keys(home))
    if json_object:
        from hocket_bus import as_json
        from hocket_tools.console import print_json

        fields = as_json.plain(ingested)
        del fields["request"]
        print_json(fields)
    else:
        print_outcome(side, ingested)
    if ingested.failures:
        raise typer.Exit(1)


def documents(
    side: Side,
    *,
    remove: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Remove this document, or all in this folder; repeatable. Reading its folder again skips a document "
            "that was removed by its own name.",
        ),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Print the stored text of this document; the end of its path is enough."),
    ] = None,
    skipped: Annotated[bool, typer.Option("--skipped", help="List the files that were skipped, and why.")] = False,
    endpoint: Endpoint = None,
    home: Home = None,
    json_object: Json = False,
) -> None:
    """List a side's documents, show one, or remove some."""
    from hocket_bus import paths
    from hocket_tools.caller import Caller
    from hocket_tools.commands.library import looking
    from hocket_tools.console import print_json

    _check_names(remove or [], "--remove")
    _check_names([show] if show is not None else [], "--show")
    if bool(remove) + (show is not None) + skipped > 1:
        raise typer.BadParameter("use only one of --remove, --show and --skipped")
    with Caller(endpoint_of(side, endpoint, home), keys=paths.keys(home), role="retrieval") as caller:
        if remove:
            with leaving(f"some of it may still be removed: see hocket documents{home_flag(home)} --side {side}"):
                _remove(caller, side, remove, json_object=json_object)
            return
        if show is not None:
            looking.show(caller, side, _spellings(show), json_object=json_object)
            return
        if skipped:
            looking.show_skipped(caller, side, json_object=json_object)
            return
        listed = list(_list(caller))
    if json_object:
        records = [{"name": one.name, "title": one.title, "chunks": one.chunks} for one in listed]
        print_json({"side": side, "documents": records})
    else:
        _show(side, listed)


def read_in(endpoint: str, files: list[Path], keys: Path | None = None) -> Ingested:
    """Ingest files and folders with a progress bar on standard error."""
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    from hocket_bus import messages as m
    from hocket_bus import paths
    from hocket_bus.errors import ProtocolError
    from hocket_tools import console
    from hocket_tools.caller import Caller

    message = m.Ingest(request=os.urandom(16), paths=[str(paths.expanded(path).resolve()) for path in files])
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}"), TimeElapsedColumn())
    err = console.err()
    bar = Bar(*columns, console=err, transient=True, disable=not err.is_terminal)
    storing_s = 0.0
    with Caller(endpoint, keys=keys, role="retrieval") as caller, bar:
        task = bar.add_task("reading", total=None, left="")
        for reply in caller.replies(message, SILENCE_S):
            if isinstance(reply, m.Progress):
                total, done = float(reply.chunks_total), float(reply.chunks_done)
                if _is_storing(reply):
                    total = storing_s = max(storing_s, reply.left_s)
                    done = total - reply.left_s
                bar.update(task, total=total, completed=done, description=_doing(reply), left=_left(reply))
            elif isinstance(reply, m.Ingested):
                return reply
    raise ProtocolError(f"{endpoint} did not say how the ingestion ended", "is that a retrieval daemon?")


def _is_storing(progress: Progress) -> bool:
    """Tell whether every passage has its vector and the last files are being stored."""
    return not progress.waiting and 0 < progress.chunks_done == progress.chunks_total


def _doing(progress: Progress) -> str:
    """Return in a few words what is being read or waited for."""
    from hocket_tools import console

    name = console.one_line(Path(progress.current).name)[:40]
    if progress.waiting:
        return f"waiting for {name}" if name else "waiting for an earlier ingestion"
    if _is_storing(progress):
        return f"storing {name}"
    return name or "reading"


def _left(progress: Progress) -> str:
    """Return how much is left to do, and how long that takes at the pace so far."""
    files = (
        f"{progress.files_done}/{progress.files_total} files, {progress.chunks_done}/{progress.chunks_total} passages"
    )
    if progress.waiting or not progress.left_s:
        return files
    minutes, seconds = divmod(round(min(progress.left_s, 359_999.0)), 60)
    return f"{files}, about {minutes // 60}:{minutes % 60:02d}:{seconds:02d} left"


def _check_names(names: list[str], option: str) -> None:
    """Raise BadParameter for an empty name, which would be the current folder, and for one that is not UTF-8.

    The bus carries UTF-8 alone.
    """
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise typer.BadParameter(f"{name!r} is not valid UTF-8, rename it", param_hint=option) from None
        if not name:
            raise typer.BadParameter("a name must not be empty", param_hint=option)


def endpoint_of(side: str, endpoint: str | None, home: Path | None) -> str:
    """Return the endpoint of a side's retrieval daemon. Raises BadConfiguration, BadRequest if not here."""
    from hocket_tools.pair.home import Home

    return endpoint or Home.find(home).reached(f"{side}-retrieval")


def _going_on(side: str, names: list[str], endpoint: str | None, home: Path | None) -> str:
    """Return the line for Ctrl-C during `ingest`: what goes on, and the command that undoes it."""
    flags = home_flag(home) + (f" --endpoint {shlex.quote(endpoint)}" if endpoint else "")
    what = shlex.quote(names[0]) if len(names) == 1 else "PATH"
    shown = f"hocket status{home_flag(home)} shows it, " if endpoint is None else ""
    undone = f"hocket documents{flags} --side {side} --remove {what}"
    return f"the {side}'s retrieval daemon goes on reading what it has accepted: {shown}{undone} undoes it"


def print_outcome(side: str, ingested: Ingested) -> None:
    """Print the counts of an ingestion, then a line for each failure and each notice."""
    from rich.markup import escape

    from hocket_tools import console

    rate = ingested.chunks / ingested.seconds if ingested.seconds > 0 else 0.0
    console.out().print(
        f"{side}: {ingested.added} added, {ingested.replaced} replaced, {ingested.unchanged} unchanged"
        f"{f', {ingested.removed} removed whose files are gone or empty' if ingested.removed else ''}; "
        f"{ingested.chunks} passages in {ingested.seconds:.1f} s ({rate:.0f}/s, "
        f"of it {ingested.embedding_s:.1f} s embedding)"
    )
    err = console.err()
    for line in ingested.failures:
        shown = escape(console.for_people(console.one_line(line), err))
        err.print(f"[yellow]not read:[/yellow] {shown}", markup=True)
    for line in ingested.notices:
        err.print(f"[yellow]note:[/yellow] {escape(console.for_people(console.one_line(line), err))}", markup=True)
    if ingested.failures:
        err.print(f"the rest is read; list what is not: hocket documents --side {side} --skipped", markup=False)


def _list(caller: Caller) -> Iterator[Document]:
    from hocket_bus import messages as m
    from hocket_tools.caller import paged

    def page_from(offset: int) -> tuple[Sequence[Document], int]:
        page = caller.ask(m.ListDocuments(request=os.urandom(16), offset=offset), m.Documents)
        return page.documents, page.total

    return paged(page_from)


def _remove(caller: Caller, side: str, names: list[str], *, json_object: bool) -> None:
    from hocket_bus import messages as m
    from hocket_bus.errors import BadRequest
    from hocket_tools.console import print_json

    gone, missing = 0, []
    for name in names:
        for spelled in _spellings(name):
            removed = caller.ask(m.Remove(request=os.urandom(16), documents=[spelled]), m.Removed, wait_s=60.0).removed
            gone += removed
            if removed:
                break
        else:
            missing.append(name)
    if json_object:
        print_json({"side": side, "removed": gone, "missing": missing})
    else:
        typer.echo(f"{side}: {gone} removed")
    if missing:
        raise BadRequest(f"no document '{missing[0]}' on the {side}", f"see: hocket documents --side {side}")


def _spellings(name: str) -> list[str]:
    """Return the possible names of a document given as `name`: as `ingest` takes a path, as a link, and unchanged."""
    from hocket_bus import paths

    path = paths.expanded(Path(name))
    return list(dict.fromkeys([str(path.resolve()), os.path.abspath(path), name]))


def _show(side: str, listed: list[Document]) -> None:
    from rich.table import Table
    from rich.text import Text

    from hocket_tools import console

    table = Table(box=None, pad_edge=False)
    table.add_column("name", overflow="fold")
    table.add_column("title", overflow="fold")
    table.add_column("passages", justify="right")
    out = console.out()
    for one in listed:
        name = console.for_people(console.one_line(one.name), out)
        table.add_row(Text(name), Text(console.one_line(one.title)), str(one.chunks))
    if listed:
        console.out().print(table)
    else:
        console.out().print(f"{side}: nothing read yet; add some with: hocket ingest --side {side} PATH…")
