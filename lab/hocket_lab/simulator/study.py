"""`hocket simulate`: every strategy at every round trip over the same recorded answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from rich.progress import track

from hocket_lab.reporting.report import Report, Row, bootstrap, percentile
from hocket_tools import console

from .pipeline import draw_pipeline
from .recording import Recording
from .roundtrip import JITTER, RoundTrip, Sinusoid, Trace
from .simulation import Outcome, simulate
from .strategies import STRATEGIES

SNAPSHOT_TOKENS = 15  # as in the paper's Figure 9
NOISE_MS = 0.01  # no difference, but for rounding


@dataclass(frozen=True)
class Settings:
    """The settings of a study besides the recording."""

    rtts_ms: list[float]
    strategies: list[str]
    jitter: float = JITTER
    trace_s: tuple[float, ...] = ()
    trace_period_s: float = 1.0
    seed: int = 0


def run(recording: Recording, settings: Settings, json_path: Path | None, pipeline: Path | None) -> bool:
    """Simulate every cell, show the table, draw the pictures; tell whether no claim misses."""
    report = Report(asdict(settings) | {"recording": recording.source, "sequences": len(recording.sequences)})
    report.path = json_path
    cells = [(rtt_ms, name) for rtt_ms in _rtts_ms(settings) for name in settings.strategies]
    done = {}
    for rtt_ms, name in track(cells, "simulating", console=console.err(), transient=True):
        done[rtt_ms, name] = list(outcomes(recording, settings, rtt_ms, name))
        report.rows.append(_cell(done[rtt_ms, name], rtt_ms, name))
    _claim(report, done)
    if json_path is not None:
        report.plot(
            json_path.with_suffix(".png"),
            "rtt_ms",
            "ms_per_token",
            "strategy",
            title=f"simulated ms per token; decisions {recording.source}",
            interval=("ms_low", "ms_high"),
        )
    if pipeline is not None:
        rtt_ms, name = cells[-1][0], "scheduler" if "scheduler" in settings.strategies else cells[-1][1]
        title = f"{name} at {rtt_ms:g} ms; simulated, decisions {recording.source}"
        draw_pipeline(pipeline, done[rtt_ms, name][0], SNAPSHOT_TOKENS, title)
    return report.finish()


def outcomes(recording: Recording, settings: Settings, rtt_ms: float, strategy: str) -> Iterator[Outcome]:
    """The simulated answers; they begin at moments spread evenly over the jitter's period or the trace."""
    number = len(recording.sequences)
    for at, sequence in enumerate(recording.sequences):
        weather = _weather(settings, rtt_ms, at / number)
        yield simulate(sequence, STRATEGIES[strategy], weather, settings.seed + at)


def _rtts_ms(settings: Settings) -> list[float]:
    return [round(fmean(settings.trace_s) * 1000, 1)] if settings.trace_s else settings.rtts_ms


def _weather(settings: Settings, rtt_ms: float, share: float) -> RoundTrip:
    if settings.trace_s:
        return Trace(settings.trace_s, settings.trace_period_s, int(share * len(settings.trace_s)))
    return Sinusoid(rtt_ms / 1000, settings.jitter, 2 * math.pi * share)


def _cell(runs: Sequence[Outcome], rtt_ms: float, strategy: str) -> Row:
    per_token = _ms_per_token(runs)
    gaps = [gap * 1000 for run in runs for gap in run.gaps_s]
    tokens = sum(len(run.token_s) for run in runs)
    low, high = bootstrap(per_token)
    return {
        "strategy": strategy,
        "rtt_ms": rtt_ms,
        "ms_per_token": fmean(per_token),
        "ms_low": low,
        "ms_high": high,
        "total_s": fmean(run.token_s[-1] for run in runs),
        "gap_p50_ms": percentile(gaps, 0.5),
        "gap_p95_ms": percentile(gaps, 0.95),
        "gap_p99_ms": percentile(gaps, 0.99),
        "drafts_per_token": sum(run.drafts for run in runs) / tokens / 2,
        "switches": fmean(run.switches for run in runs),
    }


def _ms_per_token(runs: Sequence[Outcome]) -> list[float]:
    return [fmean(run.gaps_s) * 1000 for run in runs]


def _claim(report: Report, done: Mapping[tuple[float, str], Sequence[Outcome]]) -> None:
    """Claim that the scheduler is never worse than a fixed or random side beyond noise (paper §7.4).

    Times are compared answer by answer.
    """
    for rtt_ms in dict.fromkeys(rtt_ms for rtt_ms, _ in done):
        for rival in ("device", "cloud", "random"):
            if (rtt_ms, rival) in done and (rtt_ms, "scheduler") in done:
                pairs = zip(_ms_per_token(done[rtt_ms, "scheduler"]), _ms_per_token(done[rtt_ms, rival]), strict=True)
                low, _ = bootstrap([own - other for own, other in pairs])
                name = f"scheduler minus {rival} at {rtt_ms:g} ms, lower end, ms per token"
                report.claim(name, f"<= {NOISE_MS}", low, low <= NOISE_MS)
