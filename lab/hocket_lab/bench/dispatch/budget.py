"""Part `budget`: decisions online while server or prompts change halfway; what is spent beside what may be.

`static` was built once of earlier requests; `rebuilt` is built anew of the same window as the daemon's, without an
account; `priced` is the daemon's Dispatcher. Each begins with the quantiles that a server reports of earlier requests.
The control begins with a guess, and keeps or drops what is known of servers that were cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

import numpy as np

from hocket_daemon.dispatch.policies.device_ttft import DeviceTtft
from hocket_daemon.dispatch.policies.policy import Ints
from hocket_daemon.dispatch.settings import Constraint
from hocket_lab.bench.dispatch.inputs import PAPERS, Requests, Trace, drawn
from hocket_lab.bench.dispatch.online import (
    DRIFTS,
    Daemons,
    Online,
    Played,
    Rebuilt,
    drifted,
    play,
    quantiles,
    static,
)
from hocket_lab.reporting.report import Report, Row

PART, CONTROL = "budget", "control"
DEVICE = PAPERS[1]
BUDGETS = (0.2, 0.5)
CONSTRAINTS: tuple[Constraint, ...] = ("device", "server")
BURST_PROMPTS = 20
MIN_SPENT, OVER_REBUILT, COVERED = 0.95, 1.10, (0.85, 0.95)
CONTROL_TRACE, CONTROL_BUDGET, CONTROL_RUNS = "replicate_13b", 0.3, 10
SETTLED = 5  # of the requests the first part, which is not counted
KEPT, DROPPED = 1.05, 1.3


def measure(
    report: Report,
    traces: Sequence[Trace],
    lengths: Ints,
    device_ttft: DeviceTtft,
    device: str,
    *,
    requests: int,
    runs: int,
    done: Callable[[], None],
) -> None:
    """Add the rows of each trace and constraint that the report does not have yet, and the control."""
    burst = round(BURST_PROMPTS * float(lengths.mean()))
    for trace in traces:
        drawings = [_drawing(trace, lengths, requests, run) for run in range(runs)]
        for constraint in CONSTRAINTS:
            key: Row = {"part": PART, "trace": trace.name, "device": device, "lengths": "alpaca"}
            key["constraint"] = constraint
            if report.find(**key) is None:
                report.extend(
                    key | row
                    for budget in BUDGETS
                    for drift in DRIFTS
                    for row in _cell(drawings, constraint, device_ttft, budget, drift, burst=burst)
                )
            done()
        if trace.name == CONTROL_TRACE and report.find(part=CONTROL) is None:
            report.extend(_control(trace, lengths, device_ttft, device, requests))


def _drawing(trace: Trace, lengths: Ints, number: int, run: int) -> tuple[Requests, Requests]:
    """Return the requests to play, and earlier ones."""
    return drawn(trace, lengths, number, PART, run), drawn(trace, lengths, number, PART, "before", run)


def _cell(
    drawings: Sequence[tuple[Requests, Requests]],
    constraint: Constraint,
    device_ttft: DeviceTtft,
    budget: float,
    drift: str,
    *,
    burst: int,
) -> list[Row]:
    played: dict[str, list[Played]] = {"static": [], "rebuilt": [], "priced": []}
    for requests, before in drawings:
        changed = drifted(requests, DRIFTS[drift])
        ways: dict[str, Online] = {
            "static": static(constraint, before, device_ttft, budget),
            "rebuilt": Rebuilt(constraint, device_ttft, budget, quantiles(before)),
            "priced": Daemons(constraint, device_ttft, budget, quantiles(before), burst_tokens=burst),
        }
        for name, way in ways.items():
            played[name].append(play(way, changed, constraint, device_ttft))
    key: Row = {"budget": budget, "drift": drift, "burst_tokens": burst}
    return [key | {"policy": name} | _figures(each, budget) for name, each in played.items()]


def _figures(played: Sequence[Played], budget: float) -> Row:
    spend, predicted = fmean(each.spend() for each in played), sum(each.predicted for each in played)
    return {
        "ttft_mean_s": fmean(float(each.ttft_s.mean()) for each in played),
        "ttft_p99_s": fmean(float(np.quantile(each.ttft_s, 0.99)) for each in played),
        "spend": spend,
        "spend_ratio": spend / budget,
        "worst_excess_tokens": max(each.worst_excess(budget) for each in played),
        "predicted": predicted,
        "covered": sum(each.covered for each in played),
    }


def _control(trace: Trace, lengths: Ints, device_ttft: DeviceTtft, device: str, number: int) -> list[Row]:
    rows: list[Row] = []
    for keeps in (True, False):
        spends = []
        for run in range(CONTROL_RUNS):
            way = Rebuilt("device", device_ttft, CONTROL_BUDGET, (), keeps_censored=keeps)
            spends.append(
                play(way, drawn(trace, lengths, number, CONTROL, run), "device", device_ttft).spend(number // SETTLED)
            )
        spend = fmean(spends)
        rows.append(
            {
                "part": CONTROL,
                "trace": trace.name,
                "device": device,
                "lengths": "alpaca",
                "constraint": "device",
                "policy": "censored kept" if keeps else "censored dropped",
                "budget": CONTROL_BUDGET,
                "spend": spend,
                "spend_ratio": spend / CONTROL_BUDGET,
            }
        )
    return rows


def claim(report: Report) -> list[Row]:
    """State the claims; return what to show: each drift's means over the traces."""
    rows = [row for row in report.rows if row["part"] == PART]
    if not rows:
        return []
    own = [row for row in rows if row["policy"] == "priced"]
    burst = min(_number(row, "burst_tokens") for row in own)
    worst = max(_number(row, "worst_excess_tokens") for row in own)
    report.claim("budget: tokens of priced beyond b · all, at any request", f"<= {burst:g}", worst, worst <= burst)
    spent = min(_number(row, "spend_ratio") for row in own)
    report.claim("budget: spend_ratio of priced, least", f">= {MIN_SPENT:g}", spent, spent >= MIN_SPENT)
    _claim_times(report, rows)
    for constraint in CONSTRAINTS:
        _claim_coverage(report, [row for row in own if row["constraint"] == constraint], constraint)
    _claim_control(report)
    return [each for row in _by_drift(rows) for each in row]


def _claim_times(report: Report, rows: Sequence[Row]) -> None:
    over = _over_rebuilt(rows)
    mean, maximum = fmean(over), max(over)
    goal = f"<= {OVER_REBUILT:g}"
    report.claim("budget: mean TTFT of priced over rebuilt's, mean of cells", goal, mean, mean <= OVER_REBUILT)
    report.claim("budget: mean TTFT of priced over rebuilt's, worst cell", goal, maximum, maximum <= OVER_REBUILT)


def _over_rebuilt(rows: Sequence[Row]) -> list[float]:
    names = ("trace", "constraint", "budget", "drift")
    rebuilt = {tuple(row[name] for name in names): row for row in rows if row["policy"] == "rebuilt"}
    return [
        _number(row, "ttft_mean_s") / _number(rebuilt[tuple(row[name] for name in names)], "ttft_mean_s")
        for row in rows
        if row["policy"] == "priced"
    ]


def _claim_coverage(report: Report, rows: Sequence[Row], constraint: str) -> None:
    """Claim how often the server was within its predicted P90, if one was predicted at all."""
    predicted = sum(_number(row, "predicted") for row in rows)
    if predicted:
        share = sum(_number(row, "covered") for row in rows) / predicted
        name = f"budget: requests within the server's predicted P90, {constraint}-constrained"
        report.claim(name, f"{COVERED[0]:g} to {COVERED[1]:g}", share, COVERED[0] <= share <= COVERED[1])


def _claim_control(report: Report) -> None:
    kept, dropped = (report.find(part=CONTROL, policy=f"censored {what}") for what in ("kept", "dropped"))
    if kept and dropped:
        ratio = _number(kept, "spend_ratio")
        report.claim("budget: control, censored kept, spend over b", f"<= {KEPT:g}", ratio, ratio <= KEPT)
        ratio = _number(dropped, "spend_ratio")
        report.claim("budget: control, censored dropped, spend over b", f">= {DROPPED:g}", ratio, ratio >= DROPPED)


def _by_drift(rows: Sequence[Row]) -> list[list[Row]]:
    shown = []
    for constraint in CONSTRAINTS:
        for drift in DRIFTS:
            own = [row for row in rows if row["constraint"] == constraint and row["drift"] == drift]
            if own:
                shown.append(_of_drift(own, f"{constraint}-constrained, {drift}"))
    return shown


def _of_drift(rows: Sequence[Row], case: str) -> list[Row]:
    over = _over_rebuilt(rows)
    spends = {
        policy: max(_number(row, "spend_ratio") for row in rows if row["policy"] == policy)
        for policy in ("static", "rebuilt", "priced")
    }
    beside = "most spend_ratio: " + ", ".join(f"{policy} {ratio:.2f}" for policy, ratio in spends.items())
    figure = f"priced / rebuilt, mean TTFT (worst cell {max(over):.3f})"
    return [{"part": PART, "case": case, "figure": figure, "value": fmean(over), "beside": beside}]


def _number(row: Row, name: str) -> float:
    return float(row[name] or 0)
