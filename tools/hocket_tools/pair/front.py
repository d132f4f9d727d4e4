"""The HTTP gateway of a pair: configured by serve.toml, started after the daemons, asked for its state."""

from __future__ import annotations

import time
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING

from hocket_bus.config import load
from hocket_bus.deadline import Deadline
from hocket_bus.endpoints import from_here
from hocket_bus.errors import BadConfiguration, BadRequest
from hocket_bus.trust.private import write_whole
from hocket_tools.pair import processes
from hocket_tools.pair.home import GATEWAY, Home
from hocket_tools.pair.meant import meant
from hocket_tools.pair.state import NOT_RUNNING, DaemonState
from hocket_tools.pair.up import CONFIGURATION_STATUS, StartFailed
from hocket_tools.settings import Value, commented

if TYPE_CHECKING:
    from hocket_gateway.settings import ServeSettings

LOOK_EVERY_S = 0.1
_FILES: dict[str, Value] = {
    "people": "serve-keys.json",
    "responses": "serve-responses.db",
    "uploads": "uploads",
    "watched": "serve-watched.json",
}


def configure(home: Home, port: int | None = None) -> None:
    """Write serve.toml with every key explained, where there is none. Raises BadRequest where it has another `port`."""
    from hocket_gateway.settings import ServeSettings

    file = home.config(GATEWAY)
    if not file.exists():
        write_whole(file, commented(ServeSettings, _FILES | ({} if port is None else {"port": port})))
    elif port not in (None, there := load(file, ServeSettings).port):
        raise BadRequest(f"{file} has port {there}", f"set port = {port} in it, or leave out --port")


def serve_settings(folder: Path | None, config: Path | None = None) -> ServeSettings:
    """Return the settings of the file, with the pair's own places where it names none. Raises BadConfiguration."""
    from msgspec.structs import replace

    from hocket_gateway.settings import ServeSettings

    home = Home.find(folder)
    file = config or home.config(GATEWAY)
    given = load(file, ServeSettings) if config or file.exists() else ServeSettings()
    has_documents = home.config("device-retrieval").exists()
    return replace(
        given,
        device=given.device or meant(None, folder)[0],
        retrieval=given.retrieval or (home.listening("device-retrieval") if has_documents else ""),
        keys=given.keys or str(home.at / "keys"),
        **{name: getattr(given, name) or str(home.at / str(file)) for name, file in _FILES.items()},
    )


def address(settings: ServeSettings) -> str:
    """Return the host and port at which this machine reaches the gateway."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return from_here(f"tcp://{host}:{settings.port}").removeprefix("tcp://")


def states(homes: Sequence[Home], wait_s: float = 2.0) -> list[DaemonState]:
    """Return a list with the gateway's state in the first home that configures one, if any. Raises BadConfiguration."""
    return [_state(home, wait_s) for home in homes if home.config(GATEWAY).exists()][:1]


def bring_up_gateway(home: Home, wait_s: float) -> DaemonState | None:
    """Start the gateway unless it runs, and wait until it answers; return None where it is not configured.

    Raises BadConfiguration or StartFailed; the daemons go on.
    """
    if not home.config(GATEWAY).exists():
        return None
    serve_settings(home.at)
    running = processes.running(home, GATEWAY)
    pid, deadline = running or processes.start(home, GATEWAY), Deadline.after(wait_s)
    while not (found := _state(home, 1.0)).answering:
        status = processes.exit_status(pid)
        lines = processes.last_lines(home.log(GATEWAY))
        if status == CONFIGURATION_STATUS and lines:
            raise BadConfiguration(lines[-1].removeprefix(processes.COMPLAINT))
        if status is not None or deadline.passed:
            raise StartFailed("the gateway (hocket serve) did not come up", f"see {home.log(GATEWAY)}", lines)
        time.sleep(LOOK_EVERY_S)
    return found


def _state(home: Home, wait_s: float) -> DaemonState:
    settings, pid = serve_settings(home.at), processes.running(home, GATEWAY)
    if pid is None:
        reason = processes.last_error(home, GATEWAY)
        return DaemonState(GATEWAY, None, problem=f"{NOT_RUNNING}: {reason}" if reason else NOT_RUNNING)
    connection = HTTPConnection(address(settings), timeout=wait_s)
    try:
        connection.request("GET", "/health")
        answers = connection.getresponse().status == 200
    except (OSError, HTTPException):
        answers = False
    finally:
        connection.close()
    if not answers:
        return DaemonState(GATEWAY, pid, problem="does not answer")
    facts = {
        "page": f"http://{address(settings)}/",
        "OpenAI's API": f"http://{address(settings)}/v1",
        "Ollama's API": f"http://{address(settings)}",
        "keys": "required" if Path(settings.people).exists() else "not required",
    }
    return DaemonState(GATEWAY, pid, True, True, facts)
