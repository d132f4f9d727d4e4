"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hocket_bus.messages import MAX_SUGGESTED

SuggestedTokens = Annotated[
    int, typer.Option("--tokens", min=1, max=MAX_SUGGESTED, help="Longest suggestion, in tokens.")
]
Memory = Annotated[
    bool, typer.Option("--memory/--no-memory", help="Ask the cloud for memory; without it nothing leaves.")
]
Endpoint = Annotated[
    str | None, typer.Option(help="Device daemon to use, for example tcp://laptop:7000; default $HOCKET_ENDPOINT.")
]
PairHome = Annotated[
    Path | None, typer.Option("--home", metavar="PATH", help="The pair's folder; default $HOCKET_HOME.")
]
