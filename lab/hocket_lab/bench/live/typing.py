"""`hocket bench typing`: leads of WikiText's held-out pages, typed into a running pair that knows their other sections.

A key's time runs until the client has a suggestion for the text as it then is; a key that is overtaken counts on.
"""

from __future__ import annotations

import os
import signal
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from threading import Event, Thread
from typing import Annotated

import numpy as np

from hocket_bus.errors import HocketError
from hocket_bus.messages import MAX_SUGGESTED, SUGGESTED
from hocket_client import Client
from hocket_daemon.engine.settings import BUNDLED
from hocket_lab.bench.composition.pages import FILES, Page, pages
from hocket_lab.bench.live.keys import Key, keys
from hocket_lab.bench.live.typed import Typed, Typing
from hocket_lab.bench.running.running import BenchPair, bench_pair
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row
from hocket_lab.reporting.sources import digest_of_files
from hocket_tools import console

CONDITIONS = ("none", "near", "far", "silent", "busy")
RTT_S = {"far": 0.15}
QUESTION = "What is the history of this place, and who has written about it?"
COLUMNS = (
    "condition", "keystrokes", "suggested", "p50_ms", "p95_ms", "computed_p50_ms", "kept_p95_ms", "pass_ms",
    "passes_per_suggestion", "stale_shown", "requests", "request_bytes", "memory_age_p50_s", "saved_characters",
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark."""

    keystrokes: Annotated[int, Option("Keys of each condition.", min=1)] = 2_000
    conditions: Annotated[Sequence[str], Option("What it is like meanwhile.", choices=CONDITIONS)] = CONDITIONS
    pages: Annotated[int, Option("Pages whose other sections the cloud has read.", min=1)] = 60
    tokens: Annotated[int, Option("Longest suggestion.", min=1, max=MAX_SUGGESTED)] = SUGGESTED
    model: Annotated[str, Option("The device's and the cloud's model.")] = BUNDLED
    seed: Annotated[int, Option("Chooses times, typos, jumps and pastes.", min=0)] = 0


def run(data: Path, settings: Settings, json_path: Path | None) -> bool:
    """Type under each condition; tells whether no claim misses."""
    read = {"inputs": digest_of_files([data / file for file in FILES])}
    report = Report(asdict(settings) | read, json_path)
    missing = [each for each in settings.conditions if report.find(condition=each) is None]
    if missing:
        found = pages(data, settings.pages)
        with bench_pair(model={"name": settings.model}) as pair:
            pair.ingest("cloud", {page.name: page.sections for page in found})
            for condition in missing:
                console.err().print(f"typing {settings.keystrokes} keys: {condition}")
                report.add(_measured(pair, found, condition, settings))
    report.claims.clear()
    claim(report, settings.model)
    return report.finish(COLUMNS)


def claim(report: Report, model: str) -> None:
    """Claim what each condition is to show; with another model than the bundled one it is an aim."""
    rows = {str(row["condition"]): row for row in report.rows}
    p50, p95, busy = (40, 100, 200) if model == BUNDLED else (100, 250, 500)
    for name, (column, maximum) in {
        "far: median of a key, ms": ("p50_ms", p50),
        "far: 95th percentile of a key, ms": ("p95_ms", p95),
        "far: passes of a computed suggestion": ("passes_per_suggestion", 9),
        "far: 95th percentile along a suggestion, ms": ("kept_p95_ms", 5),
    }.items():
        if "far" in rows:
            report.claim(name, f"<= {maximum}", _number(rows["far"], column), _number(rows["far"], column) <= maximum)
    if "busy" in rows:
        value = _number(rows["busy"], "p95_ms")
        report.claim("busy: 95th percentile of a key, ms", f"<= {busy}", value, value <= busy)
    if "silent" in rows and "none" in rows:
        max_ms, value = 1.1 * _number(rows["none"], "p95_ms") + 5, _number(rows["silent"], "p95_ms")
        name = "silent: 95th percentile of a key, beside 1.1 × none's + 5 ms"
        report.claim(name, f"<= {max_ms:.1f}", value, value <= max_ms)
    minimum = min(
        (_number(row, "answered") / max(1.0, _number(row, "keystrokes")) for row in rows.values()), default=0.0
    )
    report.claim("share of the keys that were answered, least", ">= 0.99", minimum, minimum >= 0.99)
    stale = sum(_number(row, "stale_shown") for row in rows.values())
    report.claim("suggestions for another text than the one that stands", "0", stale, stale == 0)


def _number(row: Row, column: str) -> float:
    return float(row[column] or 0.0)


def _measured(pair: BenchPair, found: Sequence[Page], condition: str, settings: Settings) -> Row:
    pair.set_rtt(RTT_S.get(condition, 0.0))
    typed = Typed()
    with pair.client("device") as client, _meanwhile(pair, condition):
        before = client.status().metrics
        left = settings.keystrokes
        for number, page in enumerate(found):
            if left <= 0:
                break
            script: list[Key] = list(islice(keys(page.lead, settings.seed + number), left))
            left -= len(script)
            with client.compose(tokens=settings.tokens, memory=condition != "none") as composer:
                Typing(composer, typed).type(script)
        after = client.status().metrics
    return _row(condition, typed, {name: after.get(name, 0.0) - before.get(name, 0.0) for name in after})


@contextmanager
def _meanwhile(pair: BenchPair, condition: str) -> Iterator[None]:
    """Run what goes on beside the typing in this condition."""
    if condition == "silent":
        pid = pair.pid("cloud-retrieval")
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)
    elif condition == "busy":
        ended = Event()
        with pair.client("device") as client:
            asking = Thread(target=_ask_on, args=(client, ended))
            asking.start()
            try:
                yield
            finally:
                ended.set()
                asking.join()
    else:
        yield


def _ask_on(client: Client, ended: Event) -> None:
    """Ask one question after the other until `ended` is set."""
    while not ended.is_set():
        try:
            for _ in client.ask(QUESTION, max_tokens=256, ignore_eos=True, seed=0):
                if ended.is_set():
                    break
        except HocketError:
            ended.wait(0.5)


def _row(condition: str, typed: Typed, counted: dict[str, float]) -> Row:
    return {
        "condition": condition,
        "keystrokes": typed.keys,
        "answered": typed.answered,
        "suggested": typed.suggested / max(1, typed.keys),
        "p50_ms": _quantile(typed.waits_ms, 50),
        "p95_ms": _quantile(typed.waits_ms, 95),
        "computed": len(typed.computed_ms),
        "computed_p50_ms": _quantile(typed.computed_ms, 50),
        "computed_p95_ms": _quantile(typed.computed_ms, 95),
        "kept_p50_ms": _quantile(typed.kept_ms, 50),
        "kept_p95_ms": _quantile(typed.kept_ms, 95),
        "pass_ms": sum(typed.daemon_ms) / max(1, sum(typed.passes)),
        "passes_per_suggestion": statistics.fmean(typed.passes) if typed.passes else 0.0,
        "stale_shown": typed.stale,
        "requests": counted.get("composition_memory_requests_total", 0.0),
        "request_bytes": counted.get('sent_bytes_total{class="memory"}', 0.0),
        "memory_age_p50_s": _quantile(typed.ages_s, 50),
        "saved_characters": typed.saved / max(1, typed.letters),
    }


def _quantile(values: Sequence[float], percent: float) -> float:
    return round(float(np.percentile(values, percent)), 3) if values else 0.0
