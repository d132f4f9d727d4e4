"""The settings of the benchmark, and its parts one after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, NamedTuple

from rich.progress import Progress

from hocket_daemon.dispatch.policies.policy import Ints
from hocket_daemon.dispatch.prices import TABLE_8
from hocket_lab.bench.dispatch import budget, cost, inputs, policies, times
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.picture import draw
from hocket_lab.reporting.report import Report, Row
from hocket_lab.reporting.sources import digest_of_files
from hocket_tools import console

PARTS = (policies.PART, budget.PART, cost.PART, times.PART)
DEVICES = (*inputs.PAPERS, inputs.HERE)
COLUMNS = ("part", "case", "figure", "value", "beside")


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark."""

    parts: Annotated[Sequence[str], Option("What to measure.", name="--part", choices=PARTS)] = PARTS
    traces: Annotated[Sequence[str], Option("Servers by the stems of their files; all: every one.")] = ("all",)
    devices: Annotated[Sequence[str], Option("Devices of the part policies.", choices=DEVICES)] = DEVICES
    budgets: Annotated[Sequence[float], Option("Budgets of the part policies.", min=0, max=1)] = (
        0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9,
    )  # fmt: skip
    model: Annotated[str, Option("Model of the device here, measured on one thread.")] = "auto"
    requests: Annotated[int, Option("Requests of a run.", min=10)] = 1_000
    runs: Annotated[int, Option("Runs of each cell of the part policies.", min=1)] = 10
    online_runs: Annotated[int, Option("Runs of each cell of the part budget.", min=1)] = 1
    answers: Annotated[int, Option("Answers of each cell of the part cost.", min=10)] = 100
    repeats: Annotated[int, Option("Repetitions of each time.", min=1)] = 20


class _Read(NamedTuple):
    """The data to replay: servers, and the lengths of prompts by their kind."""

    traces: Sequence[inputs.Trace]
    prompts: Mapping[str, Ints]


def run(data: Path, settings: Settings, json_path: Path | None) -> bool:
    """Measure what is not in the report yet; tells whether no claim misses. Parts may be measured one by one."""
    of_rows = {name: value for name, value in asdict(settings).items() if name != "parts"}
    report = Report(of_rows | {"inputs": digest_of_files(inputs.files(data))}, json_path)
    chosen = [trace for trace in inputs.traces(data) if {trace.name, "all"} & set(settings.traces)]
    read = _Read(chosen, inputs.lengths(data))
    with Progress(console=console.err(), transient=True) as bar:
        for part in settings.parts:
            _measure(report, part, settings, read, bar)
    report.claims.clear()
    report.summary = [row for part in (policies, budget, cost, times) for row in part.claim(report)]
    if json_path is not None:
        _draw(report, json_path.with_suffix(".png"))
    return report.finish(COLUMNS)


def _measure(report: Report, part: str, settings: Settings, read: _Read, bar: Progress) -> None:
    traces, prompts = read
    alpaca = prompts["alpaca"]
    task = bar.add_task(part, total=None)

    def done() -> None:
        bar.advance(task)

    match part:
        case policies.PART:
            device_ttfts = inputs.device_ttfts(report, settings.devices, settings.model)
            bar.update(task, total=len(traces) * len(device_ttfts) * len(prompts))
            policies.measure(
                report, traces, prompts, device_ttfts, settings.budgets,
                requests=settings.requests, runs=settings.runs, done=done,
            )  # fmt: skip
        case budget.PART:
            device_ttft = inputs.device_ttfts(report, (budget.DEVICE,), settings.model)[budget.DEVICE]
            bar.update(task, total=len(traces) * len(budget.CONSTRAINTS))
            budget.measure(
                report, traces, alpaca, device_ttft, budget.DEVICE,
                requests=settings.requests, runs=settings.online_runs, done=done,
            )  # fmt: skip
        case cost.PART:
            bar.update(task, total=len(traces) * len(inputs.PAPERS))
            cost.measure(report, traces, alpaca, list(TABLE_8), requests=settings.answers, done=done)
        case _:
            bar.update(task, total=len(times.SAMPLES) + 1)
            times.measure(report, repeats=settings.repeats, done=done)


def _draw(report: Report, png: Path) -> None:
    """Draw the mean TTFT by budget, one line for each policy, over the cells that claims are about."""
    rows = list(policies.own(report).values())
    means: dict[tuple[str, float], list[float]] = {}
    for row in rows:
        key = f"{row['policy']}, {row['constraint']}-constrained", float(row["budget"] or 0)
        means.setdefault(key, []).append(float(row["ttft_mean_s"] or 0))
    device_ttfts: list[Row] = [
        {"policy": policy, "budget": share, "ttft_mean_s": fmean(values)} for (policy, share), values in means.items()
    ]
    if device_ttfts:
        draw(png, device_ttfts, "budget", "ttft_mean_s", "policy", title="mean TTFT of 16 servers and 3 phones")
