"""`hocket serve`: the HTTP gateway in the foreground, and the keys of the people who may use it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Home = Annotated[Path | None, typer.Option("--home", metavar="PATH", help="The pair's folder.", envvar="HOCKET_HOME")]
File = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        dir_okay=False,
        help="The gateway's TOML file; default: serve.toml in the pair's folder.",
    ),
]

app = typer.Typer(
    help="A page for browsers, and OpenAI's API and Ollama's, at http://127.0.0.1:8474 (docs/serve.md).",
    epilog="Example: hocket serve --port 8474",
)
keys = typer.Typer(
    help="Manage who may ask over HTTP. Once a key exists, every request needs one.", no_args_is_help=True
)
app.add_typer(keys, name="keys")


def register(hocket: typer.Typer) -> None:
    """Add the commands."""
    hocket.add_typer(app, name="serve")


@app.callback(invoke_without_command=True)
def serve(
    context: typer.Context,
    home: Home = None,
    config: File = None,
    host: Annotated[str | None, typer.Option(help="Address to listen at; any but loopback needs keys.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Port to listen at; 0: any free port.", show_default="8474")
    ] = None,
) -> None:
    """Answer browsers, and programs that speak OpenAI's API or Ollama's, in the foreground; Ctrl-C or SIGTERM ends it.

    It sends questions to the pair's device daemon, which need not run yet. If serve.toml is in the pair's folder,
    hocket up starts the gateway, too.
    """
    if context.invoked_subcommand is not None:
        return
    from hocket_bus import log
    from hocket_bus.errors import BadConfiguration
    from hocket_bus.missing import lack

    try:
        from hocket_gateway.server import run
    except ImportError as error:
        install = "pip install 'hocket[serve]'"
        raise BadConfiguration(*lack("hocket serve", "hocket_gateway", install, error)) from error
    from msgspec.structs import replace

    from hocket_tools.pair.front import serve_settings

    settings = serve_settings(home, config)
    if host is not None:
        settings = replace(settings, host=host)
    if port is not None:
        settings = replace(settings, port=port)
    log.setup(settings.log_level, settings.log_format)
    run(settings)


@keys.command(epilog="Example: hocket serve keys new anna --alone-only --in ~/letters")
def new(
    name: Annotated[str, typer.Argument(help="Whose key it is.")],
    *,
    alone_only: Annotated[
        bool, typer.Option("--alone-only", help="Allow only answers by the device alone; nothing goes to the cloud.")
    ] = False,
    within: Annotated[
        list[str] | None,
        typer.Option(
            "--in", metavar="PATH", help="Answer only from this folder or document of the device; repeatable."
        ),
    ] = None,
    may_upload: Annotated[
        bool, typer.Option("--may-upload", help="Allow uploads of documents, to a separate folder.")
    ] = False,
    at_once: Annotated[int, typer.Option(min=0, help="Concurrent questions; 0: as in serve.toml.")] = 0,
    home: Home = None,
    config: File = None,
) -> None:
    """Make a key and print it; it is shown only once."""
    from hocket_gateway.access.people import invite
    from hocket_tools.pair.front import serve_settings
    from hocket_tools.pair.meant import folders_named

    settings = serve_settings(home, config)
    key = invite(
        Path(settings.people),
        name,
        alone_only=alone_only,
        folders=folders_named(within),
        may_upload=may_upload,
        at_once=at_once,
        uploads=Path(settings.uploads) if settings.uploads else None,
    )
    typer.echo(key)
    typer.echo("it is not stored and cannot be shown again; from now on every request needs a key", err=True)


@keys.command(epilog="Example: hocket serve keys revoke anna")
def revoke(
    name: Annotated[str, typer.Argument(help="Whose key it is.")], home: Home = None, config: File = None
) -> None:
    """Revoke a key; a running gateway refuses it at once, even in the middle of an answer."""
    from hocket_gateway.access import people

    people.revoke(_people(home, config), name)
    typer.echo(f"the key of {name} is revoked")


@keys.command("list", epilog="Example: hocket serve keys list --json")
def list_people(
    home: Home = None,
    config: File = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the people who have keys, and what each may ask."""
    from hocket_gateway.access.people import listed
    from hocket_tools.console import print_json

    people = listed(_people(home, config))
    if as_json:
        records = [
            {
                "name": each.name,
                "alone_only": each.alone_only,
                "in": each.folders,
                "may_upload": each.may_upload,
                "at_once": each.at_once,
            }
            for each in people
        ]
        print_json(records)
        return
    for each in people:
        rights = ["the device alone" if each.alone_only else "everything"]
        rights += [f"from {', '.join(each.folders)}"] if each.folders else []
        rights += ["may upload"] if each.may_upload else []
        rights += [f"{each.at_once} at once"] if each.at_once else []
        typer.echo(f"{each.name:<20} {', '.join(rights)}")


def _people(home: Path | None, config: Path | None) -> Path:
    from hocket_tools.pair.front import serve_settings

    return Path(serve_settings(home, config).people)
