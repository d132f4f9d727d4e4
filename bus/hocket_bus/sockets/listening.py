"""Listening sockets of a server, rebound if the files of its ipc sockets are removed."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import IO

import structlog
import zmq

from hocket_bus.endpoints import ANY, claim, is_tcp, lock_file, publish_endpoint, share
from hocket_bus.errors import BadConfiguration
from hocket_bus.log import RateLimitedLog

log = structlog.get_logger(__name__)


class Listening:
    """Two sockets bound at an endpoint and its `.pub` twin, and the lock that keeps other daemons off their paths."""

    def __init__(self, endpoint: str, router: zmq.Socket[bytes], xpub: zmq.Socket[bytes]) -> None:
        self._sockets = {endpoint: router, publish_endpoint(endpoint): xpub}
        self._endpoint = endpoint
        self._lock: IO[str] | None = None
        self._unmended = RateLimitedLog(log, "cannot listen")

    def begin(self) -> None:
        """Bind both sockets. Raises BadConfiguration."""
        self._lock = claim(self._endpoint)
        for endpoint in self._sockets:
            self._bind(endpoint)

    def look(self) -> None:
        """Listen again at paths that are gone, as after a cleaner of /tmp. Connections stay as they are."""
        if self._lock is None:
            return
        lost = [each for each in self._sockets if not os.path.lexists(each.removeprefix("ipc://"))]
        locked = _is_at(self._lock, lock_file(self._endpoint))
        if locked and not lost:
            return
        try:
            if not locked:
                held, self._lock = self._lock, claim(self._endpoint)
                held.close()
            for endpoint in lost:
                self._bind(endpoint)
            log.warning("listening again where files were removed", endpoint=self._endpoint)
        except (BadConfiguration, OSError) as error:
            self._unmended.note(endpoint=self._endpoint, error=str(error))

    def end(self) -> None:
        """Release the path to the next daemon; from then on nothing is bound again."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _bind(self, endpoint: str) -> None:
        """Bind without unbinding first: libzmq would end the connections that were accepted there."""
        try:
            self._sockets[endpoint].bind(endpoint)
        except zmq.ZMQError as error:
            raise _unbound(endpoint, error) from error
        if not is_tcp(endpoint):
            share(endpoint)


def _is_at(file: IO[str], path: Path) -> bool:
    return os.path.lexists(path) and os.path.samestat(os.fstat(file.fileno()), path.lstat())


def _unbound(endpoint: str, error: zmq.ZMQError) -> BadConfiguration:
    """Return the error of a failed bind. libzmq takes the name of a host for that of an interface."""
    if error.errno not in (errno.EADDRNOTAVAIL, errno.ENODEV):
        return BadConfiguration(f"cannot listen at {endpoint}: {error}", "choose a free endpoint")
    listening = f"tcp://{ANY}:{endpoint.rpartition(':')[2]}"
    return BadConfiguration(
        f"cannot listen at {endpoint}, which is not an address of this machine",
        f'listen at endpoint = "{listening}", and let others reach it at advertise = "{endpoint}" (docs/servers.md)',
    )
