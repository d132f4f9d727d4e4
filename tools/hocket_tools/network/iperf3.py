"""The bandwidth by TCP, with the system's iperf3 and an iperf3 server on the other end."""

from __future__ import annotations

import json
from typing import Any

from hocket_bus.errors import Busy, DeadlineExceeded, HocketError, ProtocolError, Unavailable
from hocket_tools.network.program import check_host, last_line, run

PACKAGE = "iperf3"
PORT = 5201
_CONNECT_S = 3.0
_END_S = 5.0


def bandwidth(host: str, *, back: bool, port: int = PORT, seconds: int = 2) -> float:
    """Bytes per second that arrive at `host`, or with `back` that arrive from it; fills the link for `seconds`.

    Raises BadRequest, Unavailable, DeadlineExceeded or ProtocolError.
    """
    check_host(host)
    command = ["iperf3", "-c", host, "-p", str(port), "-t", str(seconds), "-J"]
    command += ["--connect-timeout", str(int(_CONNECT_S * 1000)), *(["-R"] if back else [])]
    ended = run(command, PACKAGE, seconds + 2 * _CONNECT_S + _END_S)
    report = _report(ended.stdout)
    if report.get("error"):  # iperf3 3.12 leaves with status 0 then
        raise _failure(host, port, str(report["error"]))
    try:
        bits_per_s = float(report["end"]["sum_received"]["bits_per_second"])
    except (KeyError, TypeError, ValueError):
        output = last_line(ended.stderr) or last_line(ended.stdout) or "nothing"
        raise ProtocolError(f"iperf3 said: {output}"[:300], f"run it by hand: iperf3 -c {host} -p {port}") from None
    return bits_per_s / 8


def _report(text: str) -> dict[str, Any]:
    try:
        report = json.loads(text)
    except ValueError:
        return {}
    return report if isinstance(report, dict) else {}


def _failure(host: str, port: int, output: str) -> HocketError:
    start = f"start it there: iperf3 -s -p {port}"
    if "Connection refused" in output:
        return Unavailable(f"no iperf3 server listens at {host}, port {port}", start)
    if "Name or service" in output or "name resolution" in output:
        return Unavailable(f"no host is called '{host}'", "check the name, or give an address")
    if "busy" in output:
        return Busy(f"the iperf3 server at {host} is busy with another measurement")
    if "timed out" in output or "timeout" in output:
        return DeadlineExceeded(f"no iperf3 server answers at {host}, port {port}", f"{start}; a firewall may drop it")
    return ProtocolError(f"iperf3 said: {output}"[:300], f"run it by hand: iperf3 -c {host} -p {port}")
