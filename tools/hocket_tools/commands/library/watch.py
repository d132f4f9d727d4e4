"""`hocket watch`: folders that a side reads again as soon as something changes in them.

Nothing is kept here: each time the folders are ingested as a whole, which skips what is unchanged and forgets what is
gone. So whatever was missed, by a restart or on a disk that tells of no changes, is caught up with.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hocket_tools.commands.library.documents import Endpoint, Home, Side, endpoint_of, print_outcome, read_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from hocket_bus.messages import Ingested

GATHERED_MS = 1_500  # of changes that come together are one
LOOK_MS = 1_000
AGAIN_S = 300.0  # without a change, for disks that tell of none
RETRY_S = 5.0  # where the retrieval daemon does not answer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("watch", epilog="Example: hocket watch --side device ~/notes")(watch)


def watch(
    side: Side,
    names: Annotated[list[str], typer.Argument(metavar="FOLDER…", help="Folders to read, now and at every change.")],
    endpoint: Endpoint = None,
    home: Home = None,
) -> None:
    """Read folders, and again whenever a file in them is created, changed, moved or deleted, until Ctrl-C.

    Changes are read in batches, within seconds. You can stop and restart it at any time.
    """
    from watchfiles import watch as changes

    from hocket_bus import paths

    folders = [paths.expanded(Path(name)).resolve() for name in names]
    if missing := [folder for folder in folders if not folder.is_dir()]:
        raise typer.BadParameter(f"{missing[0]} is no folder of this machine", param_hint="FOLDER")

    def read_all() -> Ingested:
        return read_in(endpoint_of(side, endpoint, home), folders, paths.keys(home))

    due_s, said_before = 0.0, False
    # The first look comes when changes are watched for already, so none falls between the first reading and that.
    for changed in changes(*folders, debounce=GATHERED_MS, rust_timeout=LOOK_MS, yield_on_timeout=True):
        if changed or time.monotonic() >= due_s:
            found = _until_read(read_all)
            due_s = time.monotonic() + AGAIN_S
            if not said_before or found.added or found.replaced or found.removed or found.failures:
                print_outcome(side, found)
                said_before = True


def _until_read(read_all: Callable[[], Ingested]) -> Ingested:
    """Call `read_all` again until the daemon is there; files that change meanwhile are read with the rest."""
    from hocket_bus.errors import Unavailable
    from hocket_tools import console

    told = False
    while True:
        try:
            return read_all()
        except Unavailable as error:
            if not told:
                console.err().print(f"{error}; waiting for it", markup=False)
            told = True
            time.sleep(RETRY_S)
