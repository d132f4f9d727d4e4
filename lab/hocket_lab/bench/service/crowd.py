"""`hocket bench crowd`: a gateway before a pair under a crowd with one key, and a neighbour with another.

Clients ask and leave at the first token, some read slowly, some begin a request and say no more. Gateway and device
daemon stay as large as they were after the beginning, and the neighbour's first token comes in time.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Annotated

from hocket_gateway.access import people
from hocket_lab.bench.running.running import BenchPair, bench_pair
from hocket_lab.bench.service.gateway import Front, gateway_before
from hocket_lab.bench.speed.load import ingest, memory_mib
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row, percentile

WAIT_S = 120.0
GROWTH_MIB = 16.0
SLOWER = 2.0  # what the neighbour's first token may take beside one without a crowd
BETWEEN_S = 0.2  # two questions of the neighbour, two bytes of a slow reader
AGAIN_S = 0.05  # behind a refusal
QUESTION = "Who looks after the gate?"


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    clients: Annotated[int, Option("Clients at once.", min=1)] = 50
    streams: Annotated[int, Option("Streams that are left at their first token.", min=10)] = 5_000
    slow: Annotated[int, Option("Connections that read slowly.", min=0)] = 10
    silent: Annotated[int, Option("Connections with half a request.", min=0)] = 100
    quiet: Annotated[int, Option("Questions of the neighbour before the crowd comes.", min=2)] = 40
    a_minute: Annotated[int, Option("Questions of one key a minute.", min=1)] = 100_000
    tokens: Annotated[int, Option("Tokens that are asked for.", min=2)] = 64


@dataclass
class Seen:
    """Counts and times of what the clients of one key saw."""

    first_s: list[float] = field(default_factory=list)
    refused: int = 0
    failed: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


def run(settings: Settings, json_path: Path | None) -> bool:
    """Measure; tells whether no claim misses."""
    report = Report(asdict(settings), json_path)
    if report.find(phase="crowd") is None:
        report.rows.clear()
        with bench_pair() as pair, _front(pair, settings) as front:
            ingest(pair)
            _Crowd(report, pair, front, settings).run()
    report.claims.clear()
    _claim(report)
    return report.finish()


def _front(pair: BenchPair, settings: Settings) -> AbstractContextManager[Front]:
    return gateway_before(pair.endpoint("device"), people=True, a_minute=settings.a_minute)


class _Crowd:
    def __init__(self, report: Report, pair: BenchPair, front: Front, settings: Settings) -> None:
        self._report, self._pair, self._front, self._settings = report, pair, front, settings
        self._keys = {name: people.invite(front.people, name) for name in ("crowd", "neighbour")}
        self._over = threading.Event()
        self._crowd, self._neighbour = Seen(), Seen()

    def run(self) -> None:
        """Measure the neighbour alone, then beside the crowd, of which every tenth part has a row."""
        quiet = Seen()
        for _ in range(self._settings.quiet):
            self._ask("neighbour", quiet)
        self._note("quiet", quiet)
        with ThreadPoolExecutor(self._settings.clients + self._settings.slow + 1) as pool, self._silent():
            working = [pool.submit(self._leave_again_and_again) for _ in range(self._settings.clients)]
            working += [pool.submit(self._read_slowly) for _ in range(self._settings.slow)]
            working.append(pool.submit(self._be_the_neighbour))
            try:
                for part in range(1, 11):
                    self._until(part * self._settings.streams // 10)
                    self._note("crowd", self._neighbour, streams=len(self._crowd.first_s))
            finally:
                self._over.set()
            for each in working:
                each.result(WAIT_S)

    def _until(self, streams: int) -> None:
        while len(self._crowd.first_s) < streams:
            time.sleep(AGAIN_S)

    def _note(self, phase: str, seen: Seen, streams: int = 0) -> None:
        came_s = seen.first_s or [WAIT_S]
        row: Row = {"phase": phase, "streams": streams, "asked": len(seen.first_s)}
        row |= {"first_p50_ms": percentile(came_s, 0.5) * 1000, "first_p95_ms": percentile(came_s, 0.95) * 1000}
        row |= {"refused": seen.refused, "failed": seen.failed, "crowd_refused": self._crowd.refused}
        sizes: Row = {"gateway_mib": memory_mib(self._front.pid), "device_mib": memory_mib(self._pair.pid("device"))}
        self._report.add(row | sizes | {"crowd_failed": self._crowd.failed})

    def _leave_again_and_again(self) -> None:
        while not self._over.is_set():
            if not self._ask("crowd", self._crowd):
                self._over.wait(AGAIN_S)

    def _be_the_neighbour(self) -> None:
        while not self._over.is_set():
            self._ask("neighbour", self._neighbour)
            self._over.wait(BETWEEN_S)

    def _ask(self, name: str, seen: Seen) -> bool:
        """Ask, read to the first token, and leave; return whether it came."""
        began_s = time.perf_counter()
        connection = self._posted(name)
        try:
            response = connection.getresponse()
            is_there = response.status == 200 and any(b'"source":' in line for line in response)
            with seen.lock:
                if is_there:
                    seen.first_s.append(time.perf_counter() - began_s)
                elif response.status in (429, 503):
                    seen.refused += 1
                else:
                    seen.failed += 1
        except (OSError, HTTPException):
            with seen.lock:
                seen.failed += 1
            return False
        finally:
            connection.close()
        return is_there

    def _posted(self, name: str) -> HTTPConnection:
        connection = HTTPConnection(self._front.address, timeout=WAIT_S)
        messages = [{"role": "user", "content": QUESTION}]
        body = {"model": "hocket", "messages": messages, "stream": True, "max_tokens": self._settings.tokens}
        headers = self._bearer(name) | {"content-type": "application/json"}
        connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
        return connection

    def _bearer(self, name: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self._keys[name]}"}

    def _read_slowly(self) -> None:
        """Read a file of the page, again and again, byte by byte."""
        while not self._over.is_set():
            connection = HTTPConnection(self._front.address, timeout=WAIT_S)
            try:
                connection.request("GET", "/page/style.css")
                response = connection.getresponse()
                while not self._over.wait(BETWEEN_S) and response.read(1):
                    pass
            except (OSError, HTTPException):
                self._over.wait(BETWEEN_S)
            finally:
                connection.close()

    @contextmanager
    def _silent(self) -> Iterator[None]:
        host, _, port = self._front.address.partition(":")
        with ExitStack() as stack:
            for _ in range(self._settings.silent):
                there = stack.enter_context(socket.create_connection((host, int(port)), timeout=WAIT_S))
                there.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n")
            yield


def _claim(report: Report) -> None:
    quiet = report.find(phase="quiet") or {}
    crowd: Sequence[Row] = [row for row in report.rows if row["phase"] == "crowd"]
    for name in ("gateway", "device"):
        sizes = [float(row[f"{name}_mib"] or 0) for row in crowd]
        growth = max(sizes[2:]) - sizes[1]
        report.claim(f"the {name} grows behind the first fifth, MiB", f"< {GROWTH_MIB:g}", growth, growth < GROWTH_MIB)
    times = float(crowd[-1]["first_p50_ms"] or 0) / float(quiet["first_p50_ms"] or 1)
    report.claim("the neighbour's first token beside a quiet one, p50", f"<= {SLOWER:g}", times, times <= SLOWER)
    refused, failed = float(crowd[-1]["refused"] or 0), float(crowd[-1]["failed"] or 0)
    report.claim("questions of the neighbour that are refused", "0", refused, refused == 0)
    lost = failed + float(crowd[-1]["crowd_failed"] or 0)
    report.claim("streams that end in neither a token nor a refusal", "0", lost, lost == 0)
