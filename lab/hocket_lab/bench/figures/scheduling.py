"""Figure 8: Algorithm 1 by what decides the aggregating side, simulated and on a running pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import get_args

import msgspec
from rich.progress import Progress

from hocket_lab.bench.parties.methods import Methods, Options
from hocket_lab.bench.running.product import DOCUMENTS
from hocket_lab.bench.running.running import SIDES, bench_pair
from hocket_lab.bench.speed.aggregation import articles, fixed_prompts, inputs, share_out
from hocket_lab.rehearsal.aggregating import Aggregating
from hocket_lab.rehearsal.daemon import Rehearsal
from hocket_lab.reporting.picture import draw
from hocket_lab.reporting.report import Report, Row, Value, bootstrap
from hocket_lab.simulator import study
from hocket_lab.simulator.recording import Rates, drawn
from hocket_tools import console

from .frame import Claim, Figure
from .running import TOO_FEW, answers, enough, run_of, seconds

CELL = ("source", "device_ms", "cloud_ms", "rtt_ms", "aggregating")
DECIDERS: tuple[str, ...] = get_args(Aggregating)
OWN = "scheduler"
NOISE_MS = study.NOISE_MS


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of figure 8; pairs run at the round trips `measured_rtts_ms`, if any; the others are simulated."""

    device_ms: tuple[float, ...] = (25.0, 132.0, 217.0)
    cloud_ms: tuple[float, ...] = (25.0, 8.4, 19.0)
    rtts_ms: tuple[float, ...] = (0, 100, 200, 300, 400)
    accept: tuple[float, float] = (0.55, 0.5)
    sequences: int = 50
    simulated_tokens: int = 100
    measured_rtts_ms: tuple[int, ...] = (0, 100, 300)
    jitter: float = 0.2
    prompts: int = 30
    tokens: int = 20
    temperature: float = 1.0
    documents: int = DOCUMENTS
    articles: int = 40
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the settings. Raises ValueError for what cannot be measured."""
        if len(self.device_ms) != len(self.cloud_ms):
            raise ValueError("device_ms and cloud_ms go in pairs")

    @property
    def holds(self) -> list[tuple[float, float]]:
        """The pairs of decode times."""
        return list(zip(self.device_ms, self.cloud_ms, strict=True))


def _inputs(settings: Settings, data: Path) -> Mapping[str, Value]:
    return inputs(data, settings.prompts, settings.articles) if settings.measured_rtts_ms else {}


def _measure(report: Report, settings: Settings, data: Path) -> None:
    for hold in settings.holds:
        for decider in DECIDERS:
            for rtt_ms in settings.rtts_ms:
                cell: Row = dict(zip(CELL, ("simulated", *hold, rtt_ms, decider), strict=True))
                if report.find(**cell) is None:
                    report.extend(_simulated(settings, cell))
    for hold in settings.holds:
        for decider in DECIDERS:
            cells: list[Row] = [
                dict(zip(CELL, ("running", *hold, rtt_ms, decider), strict=True))
                for rtt_ms in settings.measured_rtts_ms
            ]
            if missing := [cell for cell in cells if report.find(**cell) is None]:
                _run(report, settings, data, missing)


def _simulated(settings: Settings, cell: Row) -> list[Row]:
    """Return the rows of a simulated cell; every decider gets the same drawn decisions."""
    decode_s = (seconds(cell["device_ms"]), seconds(cell["cloud_ms"]))
    tape = drawn(
        Rates(settings.accept, settings.accept, decode_s), settings.simulated_tokens, settings.sequences, settings.seed
    )
    rtt_ms, decider = seconds(cell["rtt_ms"]) * 1000, str(cell["aggregating"])
    how = study.Settings(rtts_ms=[rtt_ms], strategies=[decider], jitter=settings.jitter, seed=settings.seed)
    found = study.outcomes(tape, how, rtt_ms, decider)
    return [
        cell | {"prompt": number, "ms_per_token": fmean(outcome.gaps_s) * 1000} for number, outcome in enumerate(found)
    ]


def _run(report: Report, settings: Settings, data: Path, missing: Sequence[Row]) -> None:
    """Measure all cells of one pair of held times and one decider."""
    first = missing[0]
    hold_s = (seconds(first["device_ms"]), seconds(first["cloud_ms"]))
    prompts = fixed_prompts(data, settings.prompts)
    options = Options(settings.tokens, settings.temperature, settings.documents)
    decider: Aggregating = first["aggregating"]  # type: ignore[assignment] # one of DECIDERS
    how = dict.fromkeys(SIDES, Rehearsal(aggregating=decider))
    with bench_pair(hold_s, rehearsals=how) as pair, Progress(console=console.err(), transient=True) as bar:
        share_out(pair, articles(data, settings.articles))
        task = bar.add_task(f"{decider} aggregates", total=len(missing) * len(prompts))
        with Methods(pair, hold_s[0]) as methods:
            methods.warm_up(prompts[0], ["independent"])
            for cell in missing:
                methods.settle(seconds(cell["rtt_ms"]), settings.jitter)
                found = answers(methods, cell | {"method": "independent"}, prompts, options, settings.seed)
                report.extend(row | {"ms_per_token": run_of(row).ms_per_token} for row in found)
                bar.advance(task, len(prompts))


def _grouped(rows: Sequence[Row]) -> dict[tuple[Value, ...], list[float]]:
    found: dict[tuple[Value, ...], list[float]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in CELL), []).append(seconds(row["ms_per_token"]) * 1000)
    return found


def _judge(rows: Sequence[Row]) -> list[Claim]:
    found = enough(_grouped(rows))
    rivals = [name for name in DECIDERS if name != OWN]
    return [_never_worse(found, source, rival) for source in ("simulated", "running") for rival in rivals]


def _never_worse(found: Mapping[tuple[Value, ...], Sequence[float]], source: str, rival: str) -> Claim:
    """Claim that the scheduler is never worse than a rival, answer by answer, beyond noise.

    Where the lower end of the 95 % interval of the difference is above 0, it is no noise.
    """
    lows = {
        key: bootstrap([a - b for a, b in zip(own, found[(*key[:-1], rival)], strict=True)])[0]
        for key, own in found.items()
        if key[0] == source and key[-1] == OWN and (*key[:-1], rival) in found
    }
    name, target = f"{source}: scheduler minus {rival}, ms per token, lower end in the worst cell", f"<= {NOISE_MS}"
    if not lows:
        return Claim(name, target, TOO_FEW, None)
    worst = max(lows, key=lambda key: lows[key])
    measured = f"{lows[worst]:.2f} at {worst[1]:g}/{worst[2]:g} ms, round trip {worst[3]:g} ms"
    return Claim(name, target, measured, lows[worst] <= NOISE_MS)


def _summary(rows: Sequence[Row]) -> list[Row]:
    """Return one row for each cell, with the 95 % interval of the mean over the answers."""
    made: list[Row] = []
    for key, times_ms in _grouped(rows).items():
        low, high = bootstrap(times_ms)
        figures: Row = {"ms_per_token": fmean(times_ms), "ms_low": low, "ms_high": high, "answers": len(times_ms)}
        made.append(dict(zip(CELL, key, strict=True)) | figures)
    return made


def _draw(png: Path, rows: Sequence[Row], settings: Settings) -> None:
    """Draw one picture for each pair of held times, the first under the figure's own name."""
    for number, (device_ms, cloud_ms) in enumerate(settings.holds):
        shown = [
            row | {"curve": f"{row['aggregating']}, {row['source']}"}
            for row in rows
            if (row["device_ms"], row["cloud_ms"]) == (device_ms, cloud_ms)
        ]
        at = png if number == 0 else png.with_stem(f"{png.stem}-{device_ms:g}-{cloud_ms:g}")
        title = f"Algorithm 1, decode {device_ms:g}/{cloud_ms:g} ms, by what decides the aggregating side"
        draw(at, shown, "rtt_ms", "ms_per_token", "curve", title=title, interval=("ms_low", "ms_high"))


FIGURE = Figure(
    title="ms per token of Algorithm 1 by what decides the aggregating side",
    paper="the scheduler is never worse than a fixed or a random side beyond noise",
    settings=Settings,
    inputs=_inputs,
    measure=_measure,
    summary=_summary,
    judge=_judge,
    draw=_draw,
)
