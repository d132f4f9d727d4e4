"""`hocket device`, `hocket cloud`, `hocket retrieval`: one daemon in the foreground."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

EngineName = Literal["auto", "vllm"]
Config = Annotated[Path, typer.Option("--config", metavar="FILE", dir_okay=False, help="The daemon's TOML file.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("device", epilog="Example: hocket device --config device.toml")(device)
    app.command("cloud", epilog="Example: hocket cloud --config cloud.toml --engine vllm")(cloud)
    app.command("retrieval", epilog="Example: hocket retrieval --config device-retrieval.toml")(retrieval)


def device(config: Config) -> None:
    """Run the device daemon in the foreground; Ctrl-C or SIGTERM ends it.

    It answers clients together with the cloud, and alone when the cloud is away.
    `hocket up` writes a commented configuration file to start from.
    """
    from hocket_daemon.roles.device import main

    main(config)
    leave()


def cloud(
    config: Config,
    engine: Annotated[
        EngineName | None,
        typer.Option(help="Engine that runs the model, in place of \\[model] engine: vllm is for a GPU server."),
    ] = None,
) -> None:
    """Run the cloud daemon in the foreground; Ctrl-C or SIGTERM ends it."""
    from hocket_daemon.roles.cloud import main

    main(config, engine=engine)
    leave()


def retrieval(config: Config) -> None:
    """Run a retrieval daemon in the foreground; Ctrl-C or SIGTERM ends it.

    Each side has one: it holds the side's documents and ranks their passages.
    """
    from hocket_bus.config import load
    from hocket_bus.log import setup
    from hocket_retrieval.config import RetrievalConfig
    from hocket_retrieval.service.daemon import run

    settings = load(config, RetrievalConfig)
    setup(settings.log_level, settings.log_format)
    run(settings)
    leave()


def leave() -> None:
    """End the process at once: all is closed, and unloading the numerical libraries takes seconds on a busy machine."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
