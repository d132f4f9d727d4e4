"""Latency of a question that goes beyond home, part by part, and the cost of asking the gate first.

A cloud and two devices run on this machine, joined by the link emulator. One device asks: what only the other one
knows, what it knows itself, and what the cloud alone knows, each by `aggregation` and by `auto` in turn. Then it asks
the cloud's questions without the other device.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from hocket_bus.deadline import Deadline
from hocket_bus.errors import BadRequest
from hocket_bus.messages import Done, Passage, Passages
from hocket_client import Client
from hocket_daemon.graph.gate import decide
from hocket_daemon.graph.shipped import SHIPPED
from hocket_daemon.serving.records import decisions
from hocket_lab.bench.graph import family
from hocket_lab.bench.privacy.canaries import Canary, canaries, documents
from hocket_lab.link import Conditions, Link, start
from hocket_lab.reporting.report import Report, Row, percentile
from hocket_tools.pair import trial
from hocket_tools.pair.home import NAMES, Home
from hocket_tools.pair.processes import stop
from hocket_tools.pair.temporary import temporary_home

RTTS_MS = (0, 100)
RECORDED_S = 20.0
BELOW = 10_000  # the link's ports: above those that systems give to connections there may be none left
TOKENS = 8
COLUMNS = (
    "kind",
    "rtt_ms",
    "mode",
    "questions",
    "first_token_ms",
    "p90_ms",
    "search_ms",
    "gather_ms",
    "read_ms",
    "way",
)
KINDS = {"at home": 1, "another device's": 2, "the cloud's": 3}  # and the seed of its sentences
ALONE = "the cloud's, nobody to ask"


@dataclass(frozen=True, slots=True)
class Trial:
    """The asking device's home, the cloud's, the links to the cloud, and the sentences of each kind."""

    asking: Home
    cloud: Home
    links: Sequence[Link]
    known: dict[str, list[Canary]]


def measure(report: Report, number: int) -> None:
    """Add a row for each kind of question, round trip and mode, and one for the gate's own time."""
    if report.find(kind="gate") is None:
        report.add(_gate())
    for devices in (2, 1):
        kinds = KINDS if devices == 2 else {ALONE: KINDS["the cloud's"]}
        if all(report.find(kind=kind, rtt_ms=rtt, mode="auto") for kind in kinds for rtt in RTTS_MS):
            continue
        with _running(number, devices) as made:
            for rtt in RTTS_MS:
                for link in made.links:
                    link.set(Conditions.symmetric(rtt / 1000))
                for kind in kinds:
                    report.extend(_ask(made, kind, rtt))


def claim(report: Report) -> None:
    """Claim the aims of the issue."""
    row = report.find(kind="gate") or {}
    report.claim("the gate beyond its search", "≤ 10 ms", float(row["p90_ms"] or 0), float(row["p90_ms"] or 0) <= 10)
    for rtt in RTTS_MS:
        auto = report.find(kind=ALONE, rtt_ms=rtt, mode="auto") or {}
        pair = report.find(kind=ALONE, rtt_ms=rtt, mode="aggregation") or {}
        more = float(auto["first_token_ms"] or 0) - float(pair["first_token_ms"] or 0)
        report.claim(f"first token of auto beyond aggregation's, {rtt} ms", "≤ 30 ms", more, more <= 30)


@contextmanager
def _running(number: int, count: int) -> Iterator[Trial]:
    with temporary_home() as home, ExitStack() as stack:
        trial.prepare(home, count)
        devices, port = trial.devices(home), int(home.listening("cloud").rpartition(":")[2])
        links = [
            stack.enter_context(start(f"127.0.0.1:{port + offset - BELOW}", f"127.0.0.1:{port + offset}"))
            for offset in (0, 1)
        ]
        for each in (home, *devices):
            stack.callback(stop, each, list(NAMES))
        for device in devices:
            trial.dial(device, home.listening("cloud"), f"tcp://127.0.0.1:{port - BELOW}")
        family.start(home, devices)
        known = {kind: canaries(number, seed) for kind, seed in KINDS.items()}
        known[ALONE] = known["the cloud's"]
        for kind, device in zip(KINDS, devices, strict=False):
            family.read(device, "device", documents(known[kind]))
        family.read(home, "cloud", documents(known["the cloud's"]))
        family.wait_shared(devices)
        yield Trial(devices[0], home, links, known)


def _ask(made: Trial, kind: str, rtt: int) -> list[Row]:
    """Ask each question in both modes in turn, and return a row for each mode."""
    answers: dict[str, list[Done]] = {"aggregation": [], "auto": []}
    with Client(made.asking.listening("device")) as client:
        for canary in made.known[kind]:
            for mode, done in answers.items():
                done.append(client.ask(canary.question, mode=mode, temperature=0, max_tokens=TOKENS).result())
    return [_row(made, kind, rtt, mode, done) for mode, done in answers.items()]


def _row(made: Trial, kind: str, rtt: int, mode: str, answers: Sequence[Done]) -> Row:
    first = [1000 * done.ttft_s for done in answers]
    records = [_record(made, done) for done in answers]
    ways = [done.routing.way if done.routing else "" for done in answers]
    cloud = [record["cloud"]["times_s"] for record in records if record.get("cloud")]
    return {
        "kind": kind,
        "rtt_ms": rtt,
        "mode": mode,
        "questions": len(answers),
        "first_token_ms": statistics.median(first),
        "p90_ms": percentile(first, 0.9),
        "search_ms": 1000 * statistics.median(record["times_s"]["search"] for record in records),
        "gather_ms": 1000 * statistics.median(each["search"] for each in cloud) if cloud else None,
        "read_ms": 1000 * statistics.median(each["prefill"] for each in cloud) if cloud else None,
        "way": ", ".join(f"{way or 'pair'} {ways.count(way)}" for way in sorted(set(ways))),
    }


def _record(made: Trial, done: Done) -> dict[str, Any]:
    """Return the record that the daemon writes after the answer. Raises BadRequest if it has not in time."""
    deadline = Deadline.after(RECORDED_S)
    while True:
        try:
            return decisions.named(made.asking.decisions("device"), done.request.hex()).record
        except BadRequest:
            if deadline.passed:
                raise
            time.sleep(0.05)


def _gate() -> Row:
    """Measure the time of a decision once the passages are there."""
    known = canaries(4, 0)
    passages = [
        Passage(document="", title="", ordinal=n, text=" ".join([each.text] * 5), score=0.5)
        for n, each in enumerate(known)
    ]
    found = Passages(
        request=bytes(16), passages=passages, scorer=SHIPPED.scorer, scorers=[], documents_total=1, seconds=0.0
    )
    times = []
    for _ in range(1_000):
        began = time.perf_counter()
        decide(known[0].question, found, SHIPPED)
        times.append(1000 * (time.perf_counter() - began))
    return {
        "kind": "gate",
        "questions": 1,
        "first_token_ms": statistics.median(times),
        "p90_ms": percentile(times, 0.9),
    }
