"""`hocket graph`: what a device's documents are about, and what of it the cloud holds."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hocket_tools.interrupted import leaving
from hocket_tools.pair.hints import home_flag

if TYPE_CHECKING:
    from hocket_bus.messages import Subgraphs, Summary
    from hocket_tools.caller import Caller
    from hocket_tools.pair.home import Home

Folder = Annotated[
    Path | None, typer.Option("--home", metavar="PATH", help="The device's folder.", envvar="HOCKET_HOME")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

app = typer.Typer(
    help="See what a device's documents are about, and what the cloud holds of it (docs/graph.md).",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


def register(hocket: typer.Typer) -> None:
    """Add the commands."""
    hocket.add_typer(app, name="graph")


@app.command(epilog="Example: hocket graph show --home ~/trial/device-2")
def show(
    home: Folder = None,
    json_object: Json = False,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also draw it, as a .png or as an .html page that needs no network."),
    ] = None,
) -> None:
    """Show the knowledge graph's parts, each with the summary that may leave the device.

    `shared` is the version that the cloud holds, if the cloud can be reached.
    """
    from hocket_bus.errors import HocketError
    from hocket_tools import console

    here = _home(home)
    with _retrieval(here) as caller:
        pages = _pages(caller)
    try:
        held = {each.id: each.version for each in _held(here)}
    except HocketError as error:
        held = {}
        console.err().print(f"what the cloud holds is not known: {error.text}", style="dim", markup=False)
    if picture is not None:
        from hocket_tools.graph.picture import draw

        draw(picture, [each for page in pages for each in page.subgraphs], f"what {here.at.name}'s documents are about")
    if json_object:
        console.print_json(_described(pages, held))
    else:
        _show(pages, held)


@app.command(epilog="Example: hocket graph shared --home ~/trial/device-2")
def shared(home: Folder = None, json_object: Json = False) -> None:
    """Print, word for word, what the cloud currently holds about this device."""
    from hocket_tools import console

    found = _held(_home(home))
    if json_object:
        records = [{"id": each.id, "version": each.version, "text": each.text} for each in found]
        console.print_json({"summaries": records})
        return
    for each in found:
        console.out().print(f"[bold]{each.id}[/bold] version {each.version}")
        console.out().print(console.printable(each.text), markup=False)
    if not found:
        console.out().print("the cloud holds nothing of this device")


@app.command(epilog="Example: hocket graph withdraw")
def withdraw(home: Folder = None) -> None:
    """Have the cloud delete this device's summaries, and share no more.

    This also sets summaries = false in the device's file. To share again, set it to true and restart the device.
    """
    from hocket_bus import paths
    from hocket_bus.messages import Removed, StopSharing
    from hocket_tools import console
    from hocket_tools.caller import Caller

    here = _home(home)
    with leaving(f"maybe only partly withdrawn: run again: hocket graph withdraw{home_flag(home)}"):
        with Caller(here.reached("device"), keys=paths.keys(here.at), role="device") as caller:
            removed = caller.ask(StopSharing(request=os.urandom(16)), Removed).removed
        here.stop_sharing()
    text = f"withdrawn: {removed} summaries; {here.config('device')} has summaries = false now"
    typer.echo(console.for_people(text, console.out()))


@app.command(epilog="Example: hocket graph calibrate questions.jsonl")
def calibrate(
    questions: Annotated[
        Path,
        typer.Argument(metavar="FILE", help='Lines such as {"question": "…", "document": "notes.txt"}.'),
    ],
    home: Folder = None,
    risk: Annotated[
        float,
        typer.Option(min=0.01, max=0.9, help="Tolerated share of questions kept at home that have no evidence there."),
    ] = 0.2,
) -> None:
    """Calibrate, with questions of your own, when `--mode auto` answers on this device alone.

    Each question names the document that answers it, or none if no document here does. The device uses the calibration
    from its next start on.
    """
    from hocket_bus import config
    from hocket_daemon.config import DeviceSettings
    from hocket_daemon.graph import calibration_file
    from hocket_tools import console
    from hocket_tools.graph import calibrating

    here = _home(home)
    settings = config.load(here.config("device"), DeviceSettings).gate
    asked = calibrating.read(questions)
    stays = "the gate is unchanged, nothing was written: hocket graph calibrate starts again"
    with leaving(stays), _retrieval(here) as caller:
        found = calibrating.calibrated(caller, asked, settings.passages, risk)
    path = Path(settings.calibration or here.at / "device-gate.json")
    calibration_file.save(path, found.calibration)
    typer.echo(
        f"{found.questions} questions: {found.kept} would stay at home, {found.kept_without} of them without evidence; "
        f"threshold {found.calibration.threshold:.3f}"
    )
    typer.echo(console.for_people(f"written to {path}; restart the device: hocket down, hocket up", console.out()))
    if not settings.calibration:
        typer.echo(f'add under [gate] in {here.config("device")}: calibration = "{path}"')


def _home(folder: Path | None) -> Home:
    from hocket_bus.errors import BadRequest
    from hocket_tools.pair.home import Home
    from hocket_tools.pair.trial import devices

    here = Home.find(folder)
    if there := devices(here):
        raise BadRequest(f"{here.at} has {len(there)} devices", f"name one of them:{home_flag(there[0].at)}")
    here.require("device")
    return here


def _retrieval(here: Home) -> Caller:
    from hocket_bus import paths
    from hocket_tools.caller import Caller

    return Caller(here.reached("device-retrieval"), keys=paths.keys(here.at), role="retrieval")


def _pages(caller: Caller) -> list[Subgraphs]:
    from hocket_bus.messages import ListSubgraphs, Subgraphs

    pages: list[Subgraphs] = []
    while not pages or (pages[-1].subgraphs and sum(len(page.subgraphs) for page in pages) < pages[-1].total):
        offset = sum(len(page.subgraphs) for page in pages)
        pages.append(caller.ask(ListSubgraphs(request=os.urandom(16), offset=offset), Subgraphs))
    return pages


def _held(here: Home) -> list[Summary]:
    from hocket_bus import paths
    from hocket_bus.messages import ListShared, Recalled
    from hocket_tools.caller import Caller

    found: list[Summary] = []
    with Caller(here.reached("device"), keys=paths.keys(here.at), role="device") as caller:
        while True:
            after = found[-1].id if found else 0
            page = caller.ask(ListShared(request=os.urandom(16), after=after), Recalled, 15.0)
            found += page.summaries
            if not page.summaries or len(found) >= page.total:
                return found


def _described(pages: list[Subgraphs], held: dict[int, int]) -> dict[str, object]:
    first = pages[0]
    subgraphs = [
        {
            "id": each.id,
            "version": each.version,
            "shared": held.get(each.id),
            "entities": each.entities,
            "documents": each.documents,
            "summary": each.summary,
        }
        for page in pages
        for each in page.subgraphs
    ]
    return {
        "building": first.building,
        "documents": first.documents,
        "entities": first.entities,
        "relations": first.relations,
        "modularity": first.modularity,
        "subgraphs": subgraphs,
    }


def _show(pages: list[Subgraphs], held: dict[int, int]) -> None:
    from hocket_tools import console

    first, out = pages[0], console.out()
    building = "; documents are being read into it" if first.building else ""
    out.print(
        f"{first.documents} documents, {first.entities} entities, {first.relations} relations, {first.total} parts, "
        f"modularity {first.modularity:.2f}{building}"
    )
    print_line: Callable[[str], None] = lambda text: out.print(console.printable(text), markup=False)  # noqa: E731
    for page in pages:
        for each in page.subgraphs:
            state = _state(each.version, held.get(each.id), shareable=bool(each.summary))
            out.print(f"[bold]{each.id}[/bold]  {each.entities} entities of {each.documents} documents; {state}")
            print_line(f"    {each.summary}")


def _state(version: int, held: int | None, *, shareable: bool) -> str:
    if not shareable:
        return "may not be shared"
    if held is None:
        return "not shared"
    return "shared" if held == version else f"shared in version {held} of {version}"
