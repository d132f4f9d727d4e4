"""The command `hocket` of every install: says what is missing where only the client was installed."""

from __future__ import annotations

import os
import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line, or name the extra that brings it."""
    _open_streams()
    try:
        from hocket_tools.main import main as command_line
    except ImportError as error:
        from hocket_bus.missing import ALL, lack

        missing = ": ".join(lack("hocket: the command line", "hocket_tools", ALL, error))
        sys.exit(f'{missing}; or ask with: python -m hocket_client "question"')
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    command_line()


def _open_streams() -> None:
    """Open the null device for each standard stream that was closed at the start: no socket then takes its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - as long as the process
