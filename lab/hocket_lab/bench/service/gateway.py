"""`hocket bench gateway`: the time that an answer takes over HTTP beside the same answer by the plain client, in turn.

A pair without a model, as in `hocket bench overhead`, and `hocket serve` before it, so that nothing but the way of each
token counts. The plain client and a bare HTTP client ask in turn.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Annotated

from hocket_client import Client
from hocket_lab.bench.running.running import FIRST_PORTS
from hocket_lab.bench.speed.overhead import START_S, bare_device
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row, percentile
from hocket_tools.pair import front, processes
from hocket_tools.pair.home import GATEWAY, Home

WAIT_S = 120.0
FIRST_MS, TOKEN_MS = 3.0, 0.3  # what the way over HTTP may add
IDS = 2_048  # of the vocabulary

Asked = Callable[[str, int], list[float]]


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    answers: Annotated[int, Option("Answers by each client.", min=2)] = 100
    tokens: Annotated[int, Option("Tokens of each.", min=2)] = 200


def run(settings: Settings, json_path: Path | None) -> bool:
    """Measure; tells whether no claim misses."""
    report = Report(asdict(settings), json_path)
    if report.find(client="plain") is None:
        for row in _measured(settings):
            report.add(row)
    plain, over_http = (report.find(client=name) or {} for name in ("plain", "http"))
    report.claims.clear()
    for name, key, most in (("to the first token", "first_p50_ms", FIRST_MS), ("per token", "token_p50_ms", TOKEN_MS)):
        added = float(over_http[key] or 0) - float(plain[key] or 0)
        report.claim(f"added {name} over HTTP, p50 ms", f"< {most:g}", added, added < most)
    return report.finish()


def _measured(settings: Settings) -> list[Row]:
    with bare_device(IDS) as endpoint, Client(endpoint, connect_s=START_S) as client, gateway_before(endpoint) as there:
        clients: dict[str, Asked] = {
            "plain": lambda question, seed: _plain(client, question, seed, settings.tokens),
            "http": lambda question, seed: _over_http(there.address, question, seed, settings.tokens),
        }
        times: dict[str, list[list[float]]] = {name: [] for name in clients}
        for number in range(settings.answers + 1):
            for name in list(clients) if number % 2 else reversed(clients):
                came_s = clients[name]("?", number)
                times[name] += [came_s] if number else []  # the first answer warms up
    return [_row(name, each) for name, each in times.items()]


@dataclass(frozen=True)
class Front:
    """A running gateway: its address, its process, and where people's keys are."""

    address: str
    pid: int
    people: Path


@contextmanager
def gateway_before(endpoint: str, *, people: bool = False, a_minute: int = 100_000) -> Iterator[Front]:
    """Run a gateway before the daemon at an endpoint, as a process; with `people` it reads a file of keys."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        home = Home(Path(folder))
        port, keys = random.SystemRandom().choice(FIRST_PORTS), home.at / "people.json"
        lines = [f'device = "{endpoint}"', f"port = {port}", f"a_minute = {a_minute}", 'log_level = "warning"']
        lines += [f'people = "{keys}"'] * people
        home.config(GATEWAY).write_text("\n".join(lines), encoding="utf-8")
        try:
            front.bring_up_gateway(home, START_S)
            pid = processes.running(home, GATEWAY)
            assert pid is not None
            yield Front(f"127.0.0.1:{port}", pid, keys)
        finally:
            processes.stop(home, [GATEWAY])


def _row(name: str, answers: Sequence[Sequence[float]]) -> Row:
    firsts, ends = [came_s[0] for came_s in answers], [came_s[-1] for came_s in answers]
    means = [(came_s[-1] - came_s[0]) / (len(came_s) - 1) for came_s in answers]  # some tokens come together
    return {
        "client": name,
        "first_p50_ms": percentile(firsts, 0.5) * 1000,
        "first_p95_ms": percentile(firsts, 0.95) * 1000,
        "token_p50_ms": percentile(means, 0.5) * 1000,
        "token_p95_ms": percentile(means, 0.95) * 1000,
        "whole_p50_ms": percentile(ends, 0.5) * 1000,
    }


def _plain(client: Client, question: str, seed: int, tokens: int) -> list[float]:
    """Return the seconds from the question to each token."""
    began_s = time.perf_counter()
    return [time.perf_counter() - began_s for _ in client.ask(question, seed=seed, max_tokens=tokens, temperature=1.0)]


def _over_http(address: str, question: str, seed: int, tokens: int) -> list[float]:
    """Return the seconds from the question to each token over HTTP, on a connection of its own."""
    messages = [{"role": "user", "content": question}]
    body = {"model": "hocket", "messages": messages, "stream": True, "seed": seed, "max_tokens": tokens}
    body |= {"temperature": 1.0}
    came_s: list[float] = []
    began_s = time.perf_counter()
    connection = HTTPConnection(address, timeout=WAIT_S)
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"content-type": "application/json"})
        for line in connection.getresponse():
            if b'"source":' in line and b'"content":' in line:
                came_s.append(time.perf_counter() - began_s)
    finally:
        connection.close()
    return came_s
