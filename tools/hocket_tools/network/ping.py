"""The round trip by ICMP, with the system's ping."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hocket_bus.errors import DeadlineExceeded, HocketError, ProtocolError, Unavailable
from hocket_tools.network.program import check_host, last_line, run

PACKAGE = "iputils-ping"
_INTERVAL_S = 0.2  # the least that every user may ask for
_WAIT_S = 3.0
_TIMES = re.compile(r"min/avg/max(?:/\w+)? = ([\d.]+)/([\d.]+)/([\d.]+)")
_LOSS = re.compile(r"([\d.]+)% packet loss")
_PERMISSION = ("Operation not permitted", "Permission denied", "missing cap_net_raw", "lacking privilege")
_NO_HOST = ("Name or service not known", "failure in name resolution", "unknown host", "No address associated")


@dataclass(frozen=True, slots=True)
class Pings:
    """Round trips in seconds; `loss` is the share of packets without an answer."""

    min_s: float
    mean_s: float
    max_s: float
    loss: float


def ping(host: str, packets: int = 10) -> Pings:
    """Send `packets` echo requests to `host`. Raises BadRequest, Unavailable, DeadlineExceeded or ProtocolError."""
    check_host(host)
    last_s = packets * _INTERVAL_S + _WAIT_S
    command = ["ping", "-n", "-c", str(packets), "-i", str(_INTERVAL_S), "-w", str(round(last_s)), host]
    ended = run(command, PACKAGE, last_s + _WAIT_S)
    times, loss = _TIMES.search(ended.stdout), _LOSS.search(ended.stdout)
    if times is None:
        raise _failure(host, ended.stderr + ended.stdout)
    minimum, mean, maximum = (float(group) / 1000 for group in times.groups())
    return Pings(minimum, mean, maximum, float(loss[1]) / 100 if loss else 0.0)


def _failure(host: str, output: str) -> HocketError:
    if any(words in output for words in _PERMISSION):
        return Unavailable("ping may not send ICMP packets", "as root: setcap cap_net_raw+ep $(which ping)")
    if any(words in output for words in _NO_HOST):
        return Unavailable(f"no host is called '{host}'", "check the name, or give an address")
    if "Network is unreachable" in output:
        return Unavailable(f"there is no route to {host}", "is this machine online?")
    if _LOSS.search(output):
        return DeadlineExceeded(f"{host} does not answer ping", "it may be down, or a firewall drops ICMP")
    return ProtocolError(f"ping said: {last_line(output) or 'nothing'}"[:300], "run it by hand: ping -c 3 HOST")
