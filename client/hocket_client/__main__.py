"""The command `python -m hocket_client "question"`: the smallest way to ask, with the client's own install alone."""

from __future__ import annotations

import sys

from hocket_bus.endpoints import check_endpoint
from hocket_bus.errors import HocketError
from hocket_bus.paths import default_endpoint
from hocket_bus.visible import visible, visible_line

from .client import Client


def main() -> int:
    """Ask the question given on the command line and print the answer as it comes."""
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.stderr.write('usage: python -m hocket_client "question"   (HOCKET_ENDPOINT names another daemon)\n')
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    try:
        check_endpoint(default_endpoint())
        with Client() as client:
            for token in client.ask(sys.argv[1]):
                sys.stdout.write(visible(token.text))
                sys.stdout.flush()
    except HocketError as error:
        sys.stderr.write(f"hocket: {visible_line(str(error))}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
