"""The commands of other distributions that are installed, above all the laboratory's.

A distribution names them by entry points of the group `hocket.commands`; each is a function that adds its commands.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points

import typer

from hocket_bus.errors import Unavailable

GROUP = "hocket.commands"
OF_THE_LABORATORY = ("bench", "link", "simulate")


def add_commands(app: typer.Typer) -> None:
    """Add the commands that are installed; a command of the laboratory that is missing says how to get it."""
    found = {point.name: point for point in entry_points(group=GROUP)}
    for point in found.values():
        point.load()(app)
    for name in OF_THE_LABORATORY:
        if name not in found:
            app.command(name, hidden=True, context_settings=_ANY)(_absent(name))


_ANY = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


def _absent(name: str) -> Callable[[], None]:
    def absent() -> None:
        """Accept anything. Raises Unavailable, with the command that installs the laboratory."""
        raise Unavailable(
            f"hocket {name} belongs to the laboratory, which is not installed",
            "pip install hocket-lab; in a folder of hocket's sources: pip install ./lab",
        )

    return absent
