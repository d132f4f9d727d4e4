"""Part `policies`: every policy, built of earlier draws, over traces, devices, lengths and budgets; nothing is learnt.

`stoch-d` and `stoch-s` draw the requests that go to the constrained side alone; their `-race` sends the drawn ones to
both sides. The paper does not define them. `oracle` knows each first token: within the budget it buys the seconds that
are cheapest per token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np

from hocket_daemon.dispatch.policies.device_ttft import DeviceTtft
from hocket_daemon.dispatch.policies.policy import NEVER, Greedy, Ints, Policy, Ramp, Threshold
from hocket_daemon.dispatch.policies.priced import Priced
from hocket_daemon.dispatch.policies.ttfts import Floats
from hocket_lab.bench.dispatch.inputs import MANY, PAPERS, Requests, Trace, drawn, generator
from hocket_lab.bench.dispatch.samples import ttfts_of
from hocket_lab.reporting.report import Report, Row

PART, TAIL_SHARE = "policies", 0.05
CONSTRAINT = {
    "greedy": "device", "ramp": "device", "priced": "device", "stoch-d": "device", "stoch-d-race": "device",
    "oracle-d": "device", "threshold": "server", "stoch-s": "server", "stoch-s-race": "server", "oracle-s": "server",
}  # fmt: skip
TABLE_2 = {  # reductions of P99 against stochastic dispatching, %: GPT, LLaMA, DeepSeek, Command
    ("pixel-1.1b", "server"): "23.85 11.08 0.00 47.93",
    ("pixel-1.1b", "device"): "26.39 35.67 30.91 34.78",
    ("pixel-560m", "server"): "37.41 23.09 3.88 50.93",
    ("pixel-560m", "device"): "21.48 29.30 28.01 31.53",
    ("xiaomi-0.5b", "server"): "44.04 26.29 15.53 52.23",
    ("xiaomi-0.5b", "device"): "16.32 21.29 25.08 24.42",
}
CLAIMS = (  # ours, the baseline, and the least mean of 1 − ours / baseline: of P99, and of the mean
    ("greedy", "stoch-d", 0.42, 0.26),
    ("threshold", "stoch-s", 0.56, 0.31),
    ("threshold", "stoch-s-race", 0.36, 0.06),
    ("priced", "stoch-d-race", 0.12, 0.16),
)
OVER_ORACLE = 1.09
PROVIDERS = 16  # traces that the means are over


class Outcome(NamedTuple):
    """Seconds to the first token [n], and the share of all tokens that the constrained side read."""

    ttft_s: Floats
    spend: float


class Case(NamedTuple):
    """Data to measure a policy with: requests that it has not seen, and those that it was built of."""

    requests: Requests
    before: Requests
    device_ttft: DeviceTtft
    chances: Floats

    @property
    def device_s(self) -> Floats:
        """The device's seconds to its first token, [n]."""
        return np.asarray(self.device_ttft.k * self.requests.lengths + self.device_ttft.c, np.float64)


def measure(
    report: Report,
    traces: Sequence[Trace],
    prompts: Mapping[str, Ints],
    device_ttfts: Mapping[str, DeviceTtft],
    budgets: Sequence[float],
    *,
    requests: int,
    runs: int,
    done: Callable[[], None],
) -> None:
    """Add the rows of each trace, device and kind of lengths that the report does not have yet."""
    for trace in traces:
        for device, device_ttft in device_ttfts.items():
            for kind, lengths in prompts.items():
                key: Row = {"part": PART, "trace": trace.name, "device": device, "lengths": kind}
                if report.find(**key) is None:
                    cases = [_case(trace, lengths, device_ttft, requests, run) for run in range(runs)]
                    report.extend(key | row for row in _rows(cases, budgets))
                done()


def _case(trace: Trace, lengths: Ints, device_ttft: DeviceTtft, number: int, run: int) -> Case:
    requests, before = (drawn(trace, lengths, number, which, run) for which in ("requests", "before"))
    return Case(requests, before, device_ttft, generator("chances", trace.name, run).random(number))


def _rows(cases: Sequence[Case], budgets: Sequence[float]) -> Iterable[Row]:
    yield _row(None, "cloud", None, [Outcome(case.requests.ttft_s, 0.0) for case in cases])
    yield _row(None, "device", None, [Outcome(case.device_s, 1.0) for case in cases])
    for budget in budgets:
        found = [outcomes(case, budget) for case in cases]
        for policy, constraint in CONSTRAINT.items():
            yield _row(constraint, policy, budget, [outcome[policy] for outcome in found])


def _row(constraint: str | None, policy: str, budget: float | None, outcomes: Sequence[Outcome]) -> Row:
    return {
        "constraint": constraint,
        "policy": policy.removesuffix("-d").removesuffix("-s") if policy.startswith("oracle") else policy,
        "budget": budget,
        "ttft_mean_s": round(fmean(float(each.ttft_s.mean()) for each in outcomes), 5),
        "ttft_p99_s": round(fmean(float(np.quantile(each.ttft_s, 0.99)) for each in outcomes), 5),
        "spend": round(fmean(each.spend for each in outcomes), 5),
    }


def outcomes(case: Case, budget: float) -> dict[str, Outcome]:
    """Return the outcome of each policy with a budget (0 to 1), by the names of CONSTRAINT."""
    server_s, device_s, before = case.requests.ttft_s, case.device_s, case.before
    ttfts = ttfts_of(before.ttft_s)
    is_drawn = case.chances < budget
    first_s = np.minimum(server_s, device_s)
    priced = _priced(Priced(ttfts, before.lengths, case.device_ttft, budget), case)
    return {
        "greedy": _waited(case, _waits(Greedy(ttfts, before.lengths, budget, TAIL_SHARE), case)[0]),
        "ramp": _waited(case, _waits(Ramp(ttfts, before.lengths, case.device_ttft, budget, TAIL_SHARE), case)[0]),
        "priced": _waited(case, priced),
        "stoch-d": _outcome(case, is_drawn, np.where(is_drawn, device_s, server_s)),
        "stoch-d-race": _outcome(case, is_drawn, np.where(is_drawn, first_s, server_s)),
        "oracle-d": _oracle(case, server_s, device_s, budget),
        "threshold": _raced(case, _waits(Threshold(before.lengths, budget), case)[1]),
        "stoch-s": _outcome(case, is_drawn, np.where(is_drawn, server_s, device_s)),
        "stoch-s-race": _outcome(case, is_drawn, np.where(is_drawn, first_s, device_s)),
        "oracle-s": _oracle(case, device_s, server_s, budget),
    }


def _waits(policy: Policy, case: Case) -> tuple[Floats, Floats]:
    """Return the waits of device and server, [n] each."""
    kinds, place = np.unique(case.requests.lengths, return_inverse=True)
    waits = np.array([policy.waits(length) for length in kinds.tolist()])
    return waits[place, 0], waits[place, 1]


def _priced(policy: Priced, case: Case) -> Floats:
    """Return the device's waits, [n]: chance selects one of two waits for a length."""
    kinds, place = np.unique(case.requests.lengths, return_inverse=True)
    often, seldom = (policy.waits_s(kinds.astype(float), np.full(len(kinds), each)) for each in (0.0, 1.0))
    return np.where(case.chances < policy.share, often[place], seldom[place])


def _waited(case: Case, waits_s: Floats) -> Outcome:
    """Return the outcome if the server starts at once and the device after the waits."""
    server_s = case.requests.ttft_s
    return _outcome(case, server_s > waits_s, np.minimum(server_s, waits_s + case.device_s))


def _raced(case: Case, waits_s: Floats) -> Outcome:
    """Return the outcome if the device starts at once and the server after 0 seconds or never."""
    return _outcome(case, waits_s < NEVER, np.minimum(waits_s + case.requests.ttft_s, case.device_s))


def _outcome(case: Case, is_spent: np.typing.NDArray[np.bool_], ttft_s: Floats) -> Outcome:
    lengths = case.requests.lengths
    return Outcome(ttft_s, float(lengths[is_spent].sum() / lengths.sum()))


def _oracle(case: Case, free_s: Floats, bought_s: Floats, budget: float) -> Outcome:
    """Buy those starts of the constrained side that save the most seconds per token, the last one in part."""
    lengths = case.requests.lengths
    saved_s = np.maximum(0.0, free_s - bought_s)
    order = np.argsort(-saved_s / lengths)
    before = np.cumsum(lengths[order]) - lengths[order]
    part = np.clip((budget * lengths.sum() - before) / lengths[order], 0, 1) * (saved_s[order] > 0)
    return Outcome(free_s[order] - part * saved_s[order], float(part @ lengths[order] / lengths.sum()))


Found = Mapping[tuple[object, ...], Row]


def claim(report: Report) -> list[Row]:
    """State the claims, over the 16 providers, the paper's three devices and Alpaca's lengths; return what to show."""
    rows = own(report)
    if not rows:
        return []
    is_whole = len({(row["trace"], row["device"]) for row in rows.values()}) == PROVIDERS * len(PAPERS)
    shown = []
    for ours, baseline, *minimum in CLAIMS:
        for figure, name, goal in zip(("ttft_p99_s", "ttft_mean_s"), ("P99", "mean"), minimum, strict=True):
            found = _reduction(rows, ours, baseline, figure)
            holds = found >= goal if is_whole else None
            report.claim(f"policies: mean of 1 − {ours} / {baseline}, {name}", f">= {goal:g}", found, holds)
    for policy in ("priced", "ramp", "greedy"):
        over = _over_oracle(rows, policy)
        if policy == "priced":
            holds = over <= OVER_ORACLE if is_whole else None
            report.claim("policies: mean TTFT of priced over oracle's", f"<= {OVER_ORACLE:g}", over, holds)
        shown.append(_shown(f"{policy} / oracle", "mean TTFT", over))
    for (device, constraint), paper in TABLE_2.items():
        ours, baseline = ("greedy", "stoch-d") if constraint == "device" else ("threshold", "stoch-s")
        there = {key: row for key, row in rows.items() if row["device"] == device}
        if there:
            found = 100 * _reduction(there, ours, baseline, "ttft_p99_s")
            shown.append(_shown(f"{ours} under {baseline}, {device}", "P99, %", found, f"Table 2: {paper}"))
    return shown


def _shown(case: str, figure: str, value: float, beside: str = "") -> Row:
    return {"part": PART, "case": case, "figure": figure, "value": value, "beside": beside}


def own(report: Report) -> Found:
    """Return the rows that claims are about, by trace, device, constraint, policy and budget."""
    names = ("trace", "device", "constraint", "policy", "budget")
    return {
        tuple(row[name] for name in names): row
        for row in report.rows
        if row["part"] == PART and row["lengths"] == "alpaca" and row["device"] in PAPERS
        if row["trace"] != MANY and row["budget"] is not None
    }


def _reduction(rows: Found, ours: str, baseline: str, figure: str) -> float:
    """Return the mean over all cells of 1 − ours / baseline."""
    return fmean(1 - each / other for each, other in _pairs(rows, ours, baseline, figure))


def _over_oracle(rows: Found, policy: str) -> float:
    return fmean(each / other for each, other in _pairs(rows, policy, "oracle", "ttft_mean_s"))


def _pairs(rows: Found, ours: str, baseline: str, figure: str) -> list[tuple[float, float]]:
    return [
        (float(row[figure] or 0), float(rows[trace, device, constraint, baseline, budget][figure] or 0))
        for (trace, device, constraint, policy, budget), row in rows.items()
        if policy == ours
    ]
