"""`hocket bench link`: how true the link emulator's delays are, at several delays and message rates."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from rich.progress import track

from hocket_lab.link import Conditions, start
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, percentile
from hocket_tools import console

MESSAGE_BYTES = 300
WAIT_S = 30.0
MIN_HZ = 0.1  # a message every ten seconds


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    rtts_ms: Annotated[Sequence[float], Option("Round trips to emulate, ms.", name="--rtt", min=0)] = (0, 30, 100, 300)
    rates_hz: Annotated[Sequence[float], Option("Messages per second.", name="--rate", min=MIN_HZ)] = (10, 100, 1000)
    messages: Annotated[int, Option("Messages of each measurement.", min=10)] = 100


def run(settings: Settings, json_path: Path | None) -> bool:
    """Measure; tells whether no claim misses."""
    report = Report(asdict(settings) | {"bytes": MESSAGE_BYTES}, json_path)
    cells = [(rtt, rate) for rtt in settings.rtts_ms for rate in settings.rates_hz]
    todo = [cell for cell in cells if report.find(rtt_ms=cell[0], rate_hz=cell[1]) is None]
    for rtt_ms, rate_hz in track(todo, "measuring", console=console.err(), transient=True):
        excess = sorted(_one_way_excess_ms(rtt_ms, rate_hz, settings.messages))
        figures = {f"p{share}_ms": percentile(excess, share / 100) for share in (50, 95, 99)}
        report.add({"rtt_ms": rtt_ms, "rate_hz": rate_hz, "least_ms": excess[0], **figures})
    worst = max(float(row["p50_ms"] or 0) for row in report.rows)
    minimum = min(float(row["least_ms"] or 0) for row in report.rows)
    report.claim("one-way delay beyond the set one, worst p50, ms", "< 1", worst, worst < 1)
    report.claim("one-way delay beyond the set one, least, ms", ">= 0", minimum, minimum >= 0)
    if json_path is not None:
        png = json_path.with_suffix(".png")
        report.plot(png, "rtt_ms", "p50_ms", "rate_hz", title="one-way delay beyond the set one")
    return report.finish()


def _one_way_excess_ms(rtt_ms: float, rate_hz: float, messages: int) -> list[float]:
    """Return half of what each echo took beyond the set round trip, in ms.

    `messages` are sent at `rate_hz` without waiting.
    """
    with (
        _echo() as port,
        start("127.0.0.1:0", f"127.0.0.1:{port}", Conditions.symmetric(rtt_ms / 1000)) as link,
        socket.create_connection(("127.0.0.1", link.port), timeout=WAIT_S) as client,
    ):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sent_s: list[float] = []
        sender = threading.Thread(target=_send, args=(client, rate_hz, messages, sent_s))
        sender.start()
        got_s = list(_arrivals(client, messages))
        sender.join(WAIT_S)
    return [(got - sent) * 500 - rtt_ms / 2 for sent, got in zip(sent_s, got_s, strict=True)]


def _send(client: socket.socket, rate_hz: float, messages: int, sent_s: list[float]) -> None:
    began_s = time.monotonic()
    for number in range(messages):
        time.sleep(max(0.0, began_s + number / rate_hz - time.monotonic()))
        sent_s.append(time.monotonic())
        client.sendall(bytes(MESSAGE_BYTES))


def _arrivals(client: socket.socket, messages: int) -> Iterator[float]:
    """Yield the time at which the last byte of each message was there."""
    size = whole = 0
    while whole < messages:
        size += len(client.recv(65536))
        now_s = time.monotonic()
        while whole < size // MESSAGE_BYTES:
            whole += 1
            yield now_s


@contextmanager
def _echo() -> Iterator[int]:
    """Run a server that sends one connection's bytes back; yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(WAIT_S)
        thread = threading.Thread(target=_serve, args=(listener,))
        thread.start()
        yield listener.getsockname()[1]
        thread.join(WAIT_S)


def _serve(listener: socket.socket) -> None:
    peer, _ = listener.accept()
    with peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := peer.recv(65536):
            peer.sendall(data)
