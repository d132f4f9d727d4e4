"""The command `hocket` of every install: says what is missing where only the client was installed."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or name the extra that brings it."""
    try:
        from hocket_tools.main import main as command_line
    except ModuleNotFoundError as error:
        missing = f"hocket: the command line needs {error.name}, which is not installed"
        sys.exit(f"{missing}: pip install 'hocket[all]', or ask with: python -m hocket_client \"question\"")
    command_line()
