"""`hocket bench cloud`: one cloud daemon with a model of a published shape, and scripted devices on it.

No documents, no emulated link: what the daemon and its engine do, and no more. Each device says as much in one
session as a long answer has, since a key may begin so many sessions a second only.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from hocket_bus.errors import BadRequest
from hocket_daemon.engine.backends.vllm.vllm_engine import check_version
from hocket_lab.bench.running.running import BenchPair, bench_cloud
from hocket_lab.bench.running.scripted import Fleet
from hocket_lab.bench.speed.gpu import SHAPES, save
from hocket_lab.bench.speed.load import COUNTED, SETTLE_S, memory_mib
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row, percentile

ENGINES = ("auto", "vllm")
KV_BYTES = 16_000_000_000
OWN_DEVICES, OWN_SPEED_UP, OWN_DRAFTS_S = 16, 6.0, 600.0  # of the 1.5B shape on an H100 or H200
VLLM_DEVICES, VLLM_DRAFTS_S, VLLM_GAP_MS = 32, 1500.0, 100.0


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    shapes: Annotated[Sequence[str], Option(f"Shapes of models: {', '.join(SHAPES)}.")] = ("1.5B",)
    engines: Annotated[Sequence[str], Option(f"Engines: {', '.join(ENGINES)}.")] = ("auto",)
    devices: Annotated[Sequence[int], Option("Scripted devices.", min=1)] = (1, 4, OWN_DEVICES, VLLM_DEVICES)
    seconds: Annotated[float, Option("Time of each measurement.", min=1)] = 10.0
    tokens: Annotated[int, Option("Tokens of a session.", min=2)] = 128


def run(settings: Settings, json_path: Path | None) -> bool:
    """Measure what is not in the report yet; tells whether no claim misses. Raises BadRequest, Unavailable."""
    _check(settings)
    report = Report(asdict(settings), json_path)
    for shape in settings.shapes:
        for engine in settings.engines:
            if report.find(shape=shape, engine=engine) is None:
                for row in _measured(shape, engine, settings):
                    report.add({"shape": shape, "engine": engine, **row})
    report.claims.clear()
    _claim(report)
    return report.finish()


def _check(settings: Settings) -> None:
    for given, known in ((settings.shapes, SHAPES), (settings.engines, ENGINES)):
        if unknown := [name for name in given if name not in known]:
            raise BadRequest(f"there is no '{unknown[0]}'", f"use some of: {', '.join(known)}")
    if "vllm" in settings.engines:
        check_version()


def _measured(shape: str, engine: str, settings: Settings) -> list[Row]:
    places = max(settings.devices) + 4
    with tempfile.TemporaryDirectory(prefix="hocket-") as folder:
        save(SHAPES[shape], folder)
        model: dict[str, float | str] = {"name": folder, "engine": engine, "slots": 2 * places, "kv_bytes": KV_BYTES}
        with bench_cloud(model, max_sessions=places) as cloud:
            return [_driven(cloud, devices, settings) for devices in settings.devices]


def _driven(cloud: BenchPair, devices: int, settings: Settings) -> Row:
    with Fleet(cloud.endpoint("cloud"), cloud.keys, devices, settings.tokens, documents=0) as fleet:
        fleet.drive(SETTLE_S)
        before = cloud.cloud_metrics()
        seen = fleet.drive(settings.seconds)
        after = cloud.cloud_metrics()
    counted = {name: after[f"hocket_{name}"] - before[f"hocket_{name}"] for name in COUNTED}
    return {
        "devices": devices,
        "drafts_per_s": seen.drafts / settings.seconds,
        "gap_p50_ms": percentile(seen.gaps_s or [0.0], 0.5) * 1000,
        "gap_p99_ms": percentile(seen.gaps_s or [0.0], 0.99) * 1000,
        "sessions_per_step": counted["batch_steps"] / max(1.0, counted["batches"]),
        "refused": seen.refused,
        "breaks": seen.breaks,
        "cloud_mib": memory_mib(cloud.pid("cloud")),
    }


def _claim(report: Report) -> None:
    def of(engine: str, devices: int, column: str) -> float | None:
        row = report.find(shape="1.5B", engine=engine, devices=devices)
        return None if row is None else float(row[column] or 0)

    one, many = (of("auto", devices, "drafts_per_s") for devices in (1, OWN_DEVICES))
    speed_up = many / one if one and many is not None else None
    vllm, gap_ms = (of("vllm", VLLM_DEVICES, column) for column in ("drafts_per_s", "gap_p99_ms"))
    for name, value, target, least in (
        (f"own backend, 1.5B: drafts/s of {OWN_DEVICES} devices", many, OWN_DRAFTS_S, True),
        (f"own backend, 1.5B: drafts/s of {OWN_DEVICES} devices over 1", speed_up, OWN_SPEED_UP, True),
        (f"vLLM, 1.5B: drafts/s of {VLLM_DEVICES} devices", vllm, VLLM_DRAFTS_S, True),
        (f"vLLM, 1.5B: 99th percentile of the gap with {VLLM_DEVICES} devices, ms", gap_ms, VLLM_GAP_MS, False),
    ):
        if value is not None:
            holds = value >= target if least else value <= target
            report.claim(name, f"{'>=' if least else '<='} {target:g}", value, holds)
