"""Running a measuring program of the system: plain English output, a deadline, and a line when it is not there."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from hocket_bus.errors import BadRequest, DeadlineExceeded, Unavailable
from hocket_tools.pair.processes import uninterrupted

_HOST = re.compile(r"[\w:][\w.:%-]*")


def run(arguments: list[str], package: str, deadline_s: float) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; its status is the caller's business.

    Raises Unavailable when it is not installed (Debian's `package` has it), DeadlineExceeded when it does not end.
    """
    program = arguments[0]
    try:
        with _started(arguments) as process:
            out, err = process.communicate(timeout=deadline_s)
            return subprocess.CompletedProcess(arguments, process.returncode, out, err)
    except FileNotFoundError as error:
        raise Unavailable(f"the program {program} is not installed", f"apt-get install {package}") from error
    except PermissionError as error:
        raise Unavailable(f"{program} may not be run by this user", f"see: ls -l $(which {program})") from error
    except subprocess.TimeoutExpired as error:
        raise DeadlineExceeded(f"{program} did not end within {deadline_s:g} s", "is the host reachable?") from error


@contextmanager
def _started(arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Start a program that is gone at the end of the context, also when Ctrl-C comes while it starts."""
    process = None
    try:
        with uninterrupted():
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                env=os.environ | {"LC_ALL": "C"},
            )
        yield process
    finally:
        if process is not None:
            with process:
                process.kill()


def check_host(host: str) -> None:
    """Raise BadRequest unless `host` can be a name or an address; what begins with a dash would be an option."""
    if not _HOST.fullmatch(host):
        raise BadRequest(f"'{host}' is not a host", "give a name or an address, for example cloud.example")


def last_line(text: str) -> str:
    """Return the last line that is not blank."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
