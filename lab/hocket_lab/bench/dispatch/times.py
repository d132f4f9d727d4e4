"""Part `times`: how long policies take to be built of many samples, and a decision with an observation."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median

import numpy as np

from hocket_daemon.dispatch.policies.account import Account
from hocket_daemon.dispatch.policies.device_ttft import DeviceTtft
from hocket_daemon.dispatch.policies.dispatcher import Dispatcher
from hocket_daemon.dispatch.policies.policy import Greedy, Ints, Threshold
from hocket_daemon.dispatch.policies.priced import Priced
from hocket_daemon.dispatch.policies.profile import Lengths, ServerProfile
from hocket_daemon.dispatch.policies.ttfts import Floats
from hocket_daemon.dispatch.settings import DispatchSettings
from hocket_lab.bench.dispatch.inputs import generator
from hocket_lab.bench.dispatch.online import FREE
from hocket_lab.bench.dispatch.samples import ttfts_of
from hocket_lab.reporting.report import Report, Row

PART = "times"
SAMPLES = (1_000, 10_000, 100_000)
MAX_MS: Mapping[str, Sequence[float]] = {
    "greedy": (0.25, 0.9, 12.0),
    "threshold": (0.1, 0.2, 1.0),
    "priced": (2.0, 4.0, 15.0),
}
MAX_US, DECISIONS, BUDGET, TAIL_SHARE = 50.0, 2_000, 0.5, 0.05
FIGURE_9 = {"greedy": "0.486, 1.741, 14.856", "threshold": "0.128, 0.969, 9.082"}


def measure(report: Report, *, repeats: int, done: Callable[[], None]) -> None:
    """Add the rows that the report does not have yet."""
    for samples in SAMPLES:
        if report.find(part=PART, samples=samples) is None:
            report.extend(_builds(samples, repeats))
        done()
    if report.find(part=PART, policy="decision") is None:
        report.add(_decisions())
    done()


def _builds(samples: int, repeats: int) -> list[Row]:
    """Return median build times for log-normal first tokens and lengths, like the paper's synthetic ones."""
    source = generator(PART, samples)
    ttft_s: Floats = source.lognormal(-0.5, 0.8, samples)
    lengths: Ints = np.maximum(1, np.rint(source.lognormal(2.8, 0.7, samples))).astype(np.int64)
    device_ttft = DeviceTtft(0.02, 0.0)
    ways: dict[str, Callable[[], object]] = {
        "greedy": lambda: Greedy(ttfts_of(ttft_s), lengths, BUDGET, TAIL_SHARE),
        "threshold": lambda: Threshold(lengths, BUDGET),
        "priced": lambda: Priced(ttfts_of(ttft_s), lengths, device_ttft, BUDGET),
    }
    return [
        {"part": PART, "policy": policy, "samples": samples, "ms": median(_ms(way) for _ in range(repeats))}
        for policy, way in ways.items()
    ]


def _decisions() -> Row:
    """Time a decision and its observation, device-constrained; the mean includes rebuilding the policy."""
    source = generator(PART, "decisions")
    dispatcher = Dispatcher(
        DispatchSettings(budget=BUDGET, constraint="device"), FREE, Account(BUDGET, 1_000),
        server_profile=ServerProfile(), device_ttft=DeviceTtft(0.02, 0.0), lengths=Lengths(),
    )  # fmt: skip
    lengths = np.maximum(1, np.rint(source.lognormal(2.8, 0.7, DECISIONS))).astype(int).tolist()
    times_us = []
    for length, ttft_s in zip(lengths, source.lognormal(-0.5, 0.8, DECISIONS).tolist(), strict=True):
        times_us.append(1e3 * _ms(lambda length=length, ttft_s=ttft_s: _asked(dispatcher, length, ttft_s)))  # type: ignore[misc]
    return {"part": PART, "policy": "decision", "us": median(times_us), "us_mean": fmean(times_us)}


def _asked(dispatcher: Dispatcher, length: int, ttft_s: float) -> None:
    waits = dispatcher.decide(length, length, day=0).waits
    device_s = waits.device_s + dispatcher.device_ttft.at(length)
    if waits.device_s < ttft_s:
        dispatcher.start("device", length)
    if ttft_s <= device_s:
        dispatcher.observe(ttft_s)
    else:
        dispatcher.censor(device_s)


def _ms(job: Callable[[], object]) -> float:
    begun_s = time.perf_counter()
    job()
    return 1e3 * (time.perf_counter() - begun_s)


def claim(report: Report) -> list[Row]:
    """State the claims; return what to show."""
    shown: list[Row] = []
    for policy, limits in MAX_MS.items():
        for samples, limit in zip(SAMPLES, limits, strict=True):
            row = report.find(part=PART, policy=policy, samples=samples)
            if row is not None:
                ms = float(row["ms"] or 0)
                report.claim(f"times: {policy} of {samples:,} samples, ms", f"<= {limit:g}", ms, ms <= limit)
                beside = f"Figure 9, ms: {FIGURE_9[policy]}" if policy in FIGURE_9 else ""
                shown.append(_shown(f"{policy}, {samples:,} samples", "ms", ms, beside))
    row = report.find(part=PART, policy="decision")
    if row is not None:
        us = float(row["us"] or 0)
        report.claim("times: a decision and an observation, µs, median", f"<= {MAX_US:g}", us, us <= MAX_US)
        shown.append(_shown("a decision and an observation", "µs, mean with rebuilding", float(row["us_mean"] or 0)))
    return shown


def _shown(case: str, figure: str, value: float, beside: str = "") -> Row:
    return {"part": PART, "case": case, "figure": figure, "value": value, "beside": beside}
