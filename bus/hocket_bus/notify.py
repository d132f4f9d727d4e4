"""Messages of a service to systemd: sd_notify(3) and sd_watchdog_enabled(3), whose protocols are stable."""

from __future__ import annotations

import os
import socket
import time

import structlog

SEND_TIMEOUT_S = 1.0

log = structlog.get_logger(__name__)


def notify(**news: str | int) -> None:
    """Send `NAME=value` lines to the service manager; without one, do nothing."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    name = "\0" + address[1:] if address.startswith("@") else address
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.settimeout(SEND_TIMEOUT_S)
            channel.connect(name)
            channel.send("\n".join(f"{key}={value}" for key, value in news.items()).encode())
    except OSError as error:
        log.warning("the service manager does not listen", address=address, reason=str(error))


def reloading() -> None:
    """Report that the configuration is being read again; READY=1 ends that."""
    notify(RELOADING=1, MONOTONIC_USEC=time.monotonic_ns() // 1000)


def watchdog_s() -> float:
    """Return how long the manager waits for a WATCHDOG=1 before it ends this process; infinite without a watchdog."""
    usec, whose = os.environ.get("WATCHDOG_USEC", ""), os.environ.get("WATCHDOG_PID", "")
    return int(usec) / 1e6 if usec.isdigit() and whose in ("", str(os.getpid())) else float("inf")
