"""Part `cost`: the cost of answers that move to the cheaper side, and what the reader notices of the move.

Every request is bought anew at a hand-over: the target reads the prompt and what is written. A cancelled server is
billed for its whole prompt. A server writes as fast as its trace's, a device as fast as the paper's; Algorithm 1 says
which one is constrained.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from statistics import fmean
from typing import NamedTuple

import numpy as np

from hocket_bus.messages import Side
from hocket_daemon.dispatch.policies.cost import DEVICES, Costs, Tokens, bill_of, constraint_of, costs_of
from hocket_daemon.dispatch.policies.device_ttft import DeviceTtft
from hocket_daemon.dispatch.policies.migration import lead_tokens, worth_moving
from hocket_daemon.dispatch.policies.policy import Ints, StartDelays, Threshold
from hocket_daemon.dispatch.policies.priced import Priced
from hocket_daemon.dispatch.settings import Constraint, DispatchSettings
from hocket_lab.bench.dispatch.delivery import Delivery, Route, delivered
from hocket_lab.bench.dispatch.inputs import PAPERS, Requests, Trace, drawn, generator
from hocket_lab.bench.dispatch.samples import ttfts_of
from hocket_lab.reporting.report import Report, Row, percentile

PART = "cost"
ANSWER, PACE = 128, 4.8
RATES = (0.3, 5.0)  # λ of the paper's experiments
BUDGETS = (0.2, 0.8)
MIGRATIONS = ("off", "stop", "overlap", "overlap unheld")
SAVED: Mapping[Constraint, float] = {"device": 0.70, "server": 0.836}
_BESIDE = {
    "saving over off, best": "paper: 0.727 and 0.836",
    "late tokens, mean": "Table 3: 3.25 to 17.17",
    "P99 TBT of the worst, s": "Table 3: 0.209 and 0.217",
}


_delivered = lru_cache(maxsize=4096)(delivered)  # prices do not change it


class Setting(NamedTuple):
    """The two sides of a race, a server's trace and a device, and their costs."""

    trace: Trace
    device: str
    costs: Costs
    device_ttft: DeviceTtft

    @property
    def constraint(self) -> Constraint:
        """The constrained side, by Algorithm 1."""
        return constraint_of(self.costs)


class _Asked(NamedTuple):
    """A request: its tokens, and the server's seconds to the first token, at first and when it is asked once more."""

    length: int
    ttft_s: float
    again_s: float


class Answer(NamedTuple):
    """The cost of one request in dollars with λ applied, and its delivery if the writing moved."""

    cost: float
    delivery: Delivery | None


def measure(
    report: Report,
    traces: Sequence[Trace],
    lengths: Ints,
    prices: Sequence[str],
    *,
    requests: int,
    done: Callable[[], None],
) -> None:
    """Add the rows of each trace, device, price, λ and budget that the report does not have yet."""
    for trace in traces:
        if trace.between_s >= 1 / PACE:  # slower than it is read: its tokens are late without any hand-over
            continue
        for device in PAPERS:
            key: Row = {"part": PART, "trace": trace.name, "device": device, "lengths": "alpaca"}
            if report.find(**key) is None:
                played, before = (drawn(trace, lengths, requests, PART, which) for which in ("played", "before"))
                report.extend(
                    key | row
                    for price in prices
                    for rate in RATES
                    for row in _rows(_setting(trace, device, price, rate, lengths), price, rate, played, before)
                )
            done()


def _setting(trace: Trace, device: str, price: str, rate: float, lengths: Ints) -> Setting:
    settings = DispatchSettings(price=price, exchange_rate=rate)
    costs = costs_of(settings, DEVICES[device].shape, float(lengths.mean()))
    return Setting(trace, device, costs, DeviceTtft(1 / DEVICES[device].prefill_rate, 0.0))


def _rows(setting: Setting, price: str, rate: float, played: Requests, before: Requests) -> list[Row]:
    rows: list[Row] = []
    for budget in BUDGETS:
        waits = _waits(setting, played, before, budget)
        off = math.nan
        for migration in MIGRATIONS:
            answers = _answers(setting, played, waits, migration)
            cost = fmean(answer.cost for answer in answers)
            off = cost if migration == "off" else off
            row: Row = {"price": price, "exchange_rate": rate, "constraint": setting.constraint, "budget": budget}
            row |= {"migration": migration, "cost": cost, "saving": 1 - cost / off}
            rows.append(row | _noticed(answers))
    return rows


def _waits(setting: Setting, played: Requests, before: Requests, budget: float) -> list[StartDelays]:
    lengths = played.lengths.tolist()
    if setting.constraint == "server":
        threshold = Threshold(before.lengths, budget)
        return [threshold.waits(length) for length in lengths]
    priced = Priced(ttfts_of(before.ttft_s), before.lengths, setting.device_ttft, budget)
    chances = generator(PART, setting.trace.name).random(len(lengths))
    return [StartDelays(wait_s, 0.0) for wait_s in priced.waits_s(played.lengths.astype(float), chances).tolist()]


def _answers(setting: Setting, played: Requests, waits: Sequence[StartDelays], migration: str) -> list[Answer]:
    again_s = generator(PART, "again", setting.trace.name).choice(setting.trace.ttft_s, len(waits))
    each = zip(played.lengths.tolist(), played.ttft_s.tolist(), again_s.tolist(), waits, strict=True)
    return [_answer(setting, _Asked(*asked), wait, migration) for *asked, wait in each]


def _answer(setting: Setting, asked: _Asked, waits: StartDelays, migration: str) -> Answer:
    """Return the result of a race and of the hand-over to the side that is not writing."""
    length = asked.length
    device_s, server_s = waits.device_s + setting.device_ttft.at(length), waits.server_s + asked.ttft_s
    of_device, of_server = waits.device_s < server_s, waits.server_s < device_s
    source: Side = "device" if device_s < server_s else "cloud"
    delivery = None
    if migration != "off" and worth_moving(setting.costs, source, ANSWER - 1, length + 1):
        route = _route(setting, source, length, asked.again_s, held=migration == "overlap")
        delivery = _delivered(route, "stop" if migration == "stop" else "overlap")
    written = delivery.of_source if delivery else ANSWER
    read = length + written if written < ANSWER else 0
    moved = ANSWER - written
    device_read, server_read = (0, read) if source == "device" else (read, 0)
    tokens = Tokens(
        device_prefilled=length * of_device + device_read,
        device_decoded=written if source == "device" else moved,
        server_prefilled=length * of_server + server_read,
        server_decoded=moved if source == "device" else written,
    )
    return Answer(bill_of(setting.costs, tokens).total, delivery)


def _route(setting: Setting, source: Side, length: int, again_s: float, *, held: bool) -> Route:
    device, server_rate = DEVICES[setting.device], 1 / setting.trace.between_s
    if source == "device":
        rates, ready_s, expected_s = (device.decode_rate, server_rate), again_s, float(setting.trace.ttft_s.mean())
    else:
        rates = server_rate, device.decode_rate
        ready_s = expected_s = setting.device_ttft.at(length + 1)
    reading_rate = math.inf if source == "device" else device.prefill_rate
    lead = lead_tokens(PACE, 1 / rates[1]) if held else math.inf
    return Route(ANSWER, PACE, *rates, ready_s, expected_s, reading_rate, lead)


def _noticed(answers: Sequence[Answer]) -> Row:
    """Return the share of answers that moved, and their late tokens and P99 of the time between two tokens."""
    moved = [answer.delivery for answer in answers if answer.delivery and answer.delivery.of_source < ANSWER]
    late = [delivery.late(PACE) for delivery in moved]
    gaps = [gap for delivery in moved for gap in delivery.gaps_s()]
    return {
        "moved": len(moved) / len(answers),
        "late_mean": fmean(late) if late else None,
        "late_p99": percentile(late, 0.99) if late else None,
        "late_most": max(late, default=None),
        "tbt_p99_s": float(np.quantile(gaps, 0.99)) if gaps else None,
    }


def claim(report: Report) -> list[Row]:
    """State the claims; return the best savings and what the reader notices, by migration and constraint."""
    shown: list[Row] = []
    for constraint, minimum in SAVED.items():
        for migration in MIGRATIONS[1:]:
            rows = [
                row for row in report.rows
                if row["part"] == PART and row["constraint"] == constraint and row["migration"] == migration
                if row["late_mean"] is not None
            ]  # fmt: skip
            if not rows:
                continue
            shown += _shown(rows, constraint, migration)
            if migration == "overlap":
                saved, late = (_maximum(rows, figure) for figure in ("saving", "late_most"))
                name = f"cost: best saving of overlap over off, {constraint}-constrained"
                report.claim(name, f">= {minimum:g}", saved, saved >= minimum)
                report.claim(f"cost: late tokens of overlap, {constraint}-constrained, most", "0", late, late == 0)
    return shown


def _shown(rows: Sequence[Row], constraint: str, migration: str) -> list[Row]:
    case = f"{migration}, {constraint}-constrained"
    figures = {
        "saving over off, best": _maximum(rows, "saving"),
        "saving over off, mean": fmean(float(row["saving"] or 0) for row in rows),
        "late tokens, mean": fmean(float(row["late_mean"] or 0) for row in rows),
        "late tokens, P99 of the worst": _maximum(rows, "late_p99"),
        "P99 TBT of the worst, s": _maximum(rows, "tbt_p99_s"),
    }
    return [
        {"part": PART, "case": case, "figure": figure, "value": value, "beside": _BESIDE.get(figure, "")}
        for figure, value in figures.items()
    ]


def _maximum(rows: Sequence[Row], figure: str) -> float:
    return max(float(row[figure] or 0) for row in rows)
