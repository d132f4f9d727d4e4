"""`hocket bench preemption`: from a rejection to the start of the recomputation, with and without interruption.

The engine in this process, on one compute thread as in a daemon, with a model of random weights that is large enough
for a forward pass to take tens of milliseconds. A rejection comes at a random moment of a pass.
"""

from __future__ import annotations

import random
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

from rich.progress import track

from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.preemption import Interrupt, Preempted
from hocket_daemon.engine.runtime.sequences import SequenceGroup
from hocket_daemon.engine.settings import ModelSettings
from hocket_lab.bench.running.random_model import save_random_model
from hocket_lab.forcing import distribution, read_at_once
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.picture import draw
from hocket_lab.reporting.report import Report, Row, bootstrap, percentile
from hocket_tools import console

WAYS = ("interrupted", "to the end of the pass")
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
PASSAGE, QUESTION = "The harbour was built in 1871 by Ada Merrow.", "Who built the harbour?"
PASS_MS = 25.0


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    rejections: Annotated[int, Option("Rejections of each way.", min=5)] = 200
    layers: Annotated[int, Option("Layers of the model.", min=1)] = 16
    width: Annotated[int, Option("Width of the model, a multiple of 64.", min=64)] = 640
    seed: Annotated[int, Option("Chooses weights and moments.", min=0)] = 0


def run(settings: Settings, json_path: Path | None) -> bool:
    """Measure what is not in the report yet; tells whether no claim misses."""
    report = Report(asdict(settings), json_path)
    missing = [way for way in WAYS if report.find(way=way) is None]
    if missing:
        with tempfile.TemporaryDirectory(prefix="hocket-") as folder:
            save_random_model(Path(folder), width=settings.width, layers=settings.layers, seed=settings.seed)
            model = TransformersModel(ModelSettings(name=folder, context=256, slots=1), "device")
        pass_s = median(_pass_s(model) for _ in range(9))
        for way in missing:
            gaps_ms = [gap * 1000 for gap in _gaps_s(model, settings, way, pass_s)]
            row: Row = {"way": way, "pass_ms": pass_s * 1000}
            report.add(row | _figures(gaps_ms))
    report.claims.clear()
    _claim(report)
    if json_path is not None:
        points = [
            {"way": row["way"], "ms": row[_column(share)], "share of rejections": share}
            for row in report.rows
            for share in SHARES
        ]
        title = "from a rejection to the recomputation"
        draw(json_path.with_suffix(".png"), points, "ms", "share of rejections", "way", title=title)
    return report.finish()


def _read(model: TransformersModel) -> SequenceGroup:
    group = read_at_once(model, QUESTION, [PASSAGE], task="complete", room=8)
    distribution(group, [2, 3], [1.0])
    return group


def _pass_s(model: TransformersModel) -> float:
    group = _read(model)
    started_s = time.perf_counter()
    distribution(group, [2, 3, 4], [1.0])
    seconds = time.perf_counter() - started_s
    group.close()
    return seconds


def _gaps_s(model: TransformersModel, settings: Settings, way: str, pass_s: float) -> list[float]:
    """Return the seconds from each rejection to the start of the next pass; passes that had ended do not count."""
    rng = random.Random(settings.seed)
    group = _read(model)
    gaps_s: list[float] = []
    with ThreadPoolExecutor(1) as compute:
        for _ in track(range(settings.rejections), way, console=console.err(), transient=True):
            gap_s = None
            while gap_s is None:
                gap_s = _gap_s(compute, group, way, rng.uniform(0, pass_s))
            gaps_s.append(gap_s)
    group.close()
    return gaps_s


def _gap_s(compute: ThreadPoolExecutor, group: SequenceGroup, way: str, after_s: float) -> float | None:
    interrupt, begun = Interrupt(), threading.Event()

    def stale() -> None:
        begun.set()
        with suppress(Preempted):
            distribution(group, [2, 3, 4], [1.0], interrupt)

    def recompute() -> float:
        started_s = time.perf_counter()
        distribution(group, [2, 3, 5], [1.0])
        return started_s

    first = compute.submit(stale)
    begun.wait()
    time.sleep(after_s)
    late, rejected_s = first.done(), time.perf_counter()
    if way == WAYS[0]:
        interrupt.set()
    started_s = compute.submit(recompute).result()
    first.result()
    return None if late else started_s - rejected_s


def _figures(gaps_ms: list[float]) -> Row:
    low, high = bootstrap(gaps_ms, median)
    row: Row = {_column(share): percentile(gaps_ms, share) for share in SHARES}
    return row | {"p50_low_ms": low, "p50_high_ms": high, "rejections": len(gaps_ms)}


def _column(share: float) -> str:
    return f"p{share * 100:.0f}_ms"


def _claim(report: Report) -> None:
    interrupted, whole = (report.find(way=way) for way in WAYS)
    assert interrupted is not None
    assert whole is not None
    pass_ms = float(interrupted["pass_ms"] or 0)
    report.claim("a forward pass takes, ms", f">= {PASS_MS:g}", pass_ms, pass_ms >= PASS_MS)
    top, floor = float(interrupted["p50_high_ms"] or 0), float(whole["p50_low_ms"] or 0)
    name = "median with interruption (upper end) below that without (lower end), ms"
    report.claim(name, f"< {floor:.2f}", top, top < floor)
