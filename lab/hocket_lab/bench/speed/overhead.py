"""`hocket bench overhead`: what the bus and the aggregation cost per token, without a model.

Two sides that draft at once what was made beforehand, each in a process that turns its bus's loop as a daemon does,
and a client: truncating, encoding, sending, decoding, mixing, drawing, publishing and reading is all that there is
between two tokens. Beside it a request's round trip between client and device.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from hocket_bus.messages import Side
from hocket_client import Client
from hocket_lab.bench.running.bare import endpoint
from hocket_lab.bench.running.product import WIRE_MASS
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, percentile

VOCABULARIES = (2_048, 151_936)
START_S = 30.0
SIDES: tuple[Side, ...] = ("device", "cloud")


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    tokens: Annotated[int, Option("Tokens to exchange.", min=10)] = 1000


def run(settings: Settings, json_path: Path | None) -> bool:
    """Measure; tells whether no claim misses."""
    report = Report(asdict(settings) | {"vocabularies": list(VOCABULARIES), "wire_mass": WIRE_MASS}, json_path)
    for vocabulary in VOCABULARIES:
        if report.find(vocabulary=vocabulary) is None:
            with bare_pair(vocabulary) as client:
                trips = [_seconds(client.status) for _ in range(settings.tokens)]
                costs = _gaps(client, settings.tokens)
            report.add(
                {
                    "vocabulary": vocabulary,
                    "token_p50_ms": percentile(costs, 0.5) * 1000,
                    "token_p95_ms": percentile(costs, 0.95) * 1000,
                    "round_trip_p50_ms": percentile(trips, 0.5) * 1000,
                }
            )
    report.claims.clear()
    for row in report.rows:
        cost = float(row["token_p50_ms"] or 0)
        report.claim(f"bus and aggregation per token, vocabulary {row['vocabulary']}, p50 ms", "< 1", cost, cost < 1)
    return report.finish()


@contextmanager
def bare_pair(vocabulary: int) -> Iterator[Client]:
    """Run two bare sides, and yield a client of them."""
    with bare_device(vocabulary) as at, Client(at, connect_s=START_S) as client:
        yield client


@contextmanager
def bare_device(vocabulary: int) -> Iterator[str]:
    """Run two bare sides, and yield the endpoint of the device."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hk")))
        for side in SIDES:
            arguments = [
                sys.executable,
                "-P",
                "-m",
                "hocket_lab.bench.running.bare",
                side,
                str(folder),
                str(vocabulary),
            ]
            process = stack.enter_context(subprocess.Popen(arguments))
            stack.callback(process.kill)
        yield endpoint(folder, "device")


def _gaps(client: Client, tokens: int) -> list[float]:
    """Return the seconds between the tokens of one answer, as its reader has them."""
    came_s = [time.perf_counter() for _ in client.ask("?", max_tokens=tokens, temperature=1.0, top_p=1.0)]
    return [later - earlier for earlier, later in pairwise(came_s)]


def _seconds(action: Callable[[], object]) -> float:
    started_s = time.perf_counter()
    action()
    return time.perf_counter() - started_s
