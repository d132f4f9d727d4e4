"""Evaluation of the rows of `hocket bench race`: a summary of each phase, and the claims. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from hocket_lab.bench.running.running import SIDES
from hocket_lab.reporting.report import Report, Row, Value

COLUMNS = ("phase", "n", "live_mean_s", "simulated_mean_s", "best_mean_s", "within", "same_winner", "device_won")
KEY = ("constraint", "budget", "rtt_ms", "script")
SHARE, ALLOWED_SHARE, ALLOWED_S = 0.95, 0.10, 0.030
OVER_BEST, BESIDE_S = 1.05, 0.010
BOOKED = ("prefilled", "decoded")


def is_within(row: Row) -> bool:
    """Tell whether the live first token is as near to the simulated one as it should be."""
    live_s, simulated_s = number(row, "live_s"), number(row, "simulated_s")
    return abs(live_s - simulated_s) <= max(ALLOWED_SHARE * simulated_s, ALLOWED_S)


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return a row for each phase; `best_mean_s` is the mean time of the faster side alone, question by question."""
    found: dict[tuple[Value, ...], list[Row]] = {}
    for row in rows:
        if row["kind"] == "answer":
            found.setdefault(tuple(row[name] for name in KEY), []).append(row)
    return [_summed(dict(zip(KEY, key, strict=True)), mine, rows) for key, mine in found.items()]


def _summed(key: Row, mine: Sequence[Row], rows: Sequence[Row]) -> Row:
    best = _best_s(rows, key["rtt_ms"]) if key["budget"] == 1 and not key["script"] else []
    return key | {
        "phase": name_of(key),
        "n": len(mine),
        "live_mean_s": fmean(number(row, "live_s") for row in mine),
        "simulated_mean_s": fmean(number(row, "simulated_s") for row in mine),
        "best_mean_s": fmean(best) if best else None,
        "within": sum(map(is_within, mine)),
        "same_winner": sum(row["winner"] == row["simulated_winner"] for row in mine),
        "device_won": sum(row["winner"] == "device" for row in mine),
        "loser_steps": max(int(row["loser_steps"] or 0) for row in mine),
        "off_tokens": _off(key, mine, rows),
    }


def name_of(key: Row) -> str:
    """Return the name of a phase."""
    rtt = f"{key['rtt_ms']} ms"
    return f"{key['script']} alone, {rtt}" if key["script"] else f"{key['constraint']}, b {key['budget']:g}, {rtt}"


def _best_s(rows: Sequence[Row], rtt_ms: Value) -> list[float]:
    """Return the faster side's seconds for each question, of both sides alone; empty if one was not measured."""
    device = _alone_s(rows, "device", 0)
    cloud = _alone_s(rows, "cloud", rtt_ms)
    return [min(device[question], cloud[question]) for question in device if question in cloud]


def _alone_s(rows: Sequence[Row], side: str, rtt_ms: Value) -> dict[Value, float]:
    mine = (row for row in rows if (row["kind"], row["script"], row["rtt_ms"]) == ("answer", side, rtt_ms))
    return {row["question"]: number(row, "live_s") for row in mine}


def _off(key: Row, mine: Sequence[Row], rows: Sequence[Row]) -> int:
    """Return the number of tokens that were booked and not counted, or counted and not booked."""
    counted = next(row for row in rows if row["kind"] == "engine" and all(row[name] == key[name] for name in KEY))
    names = [f"{what}_{side}" for what in BOOKED for side in SIDES]
    return sum(abs(sum(int(row[name] or 0) for row in mine) - int(counted[name] or 0)) for name in names)


def claim(report: Report) -> None:
    """State the claims, phase by phase, from the report's summary."""
    report.claims.clear()
    raced = [row for row in report.summary if not row["script"]]
    for row in raced:
        within, n = int(row["within"] or 0), int(row["n"] or 0)
        name = f"{row['phase']}: first tokens within max(10 %, 30 ms) of the simulated ones"
        report.claim(name, f">= {SHARE:.0%} of {n}", within, within >= SHARE * n)
    for row in raced:
        if row["best_mean_s"] is not None:
            bound, live_s = OVER_BEST * number(row, "best_mean_s") + BESIDE_S, number(row, "live_mean_s")
            name = f"{row['phase']}: mean seconds to the first token, beside 1.05 × the faster side's + 10 ms"
            report.claim(name, f"<= {bound:.4f}", live_s, live_s <= bound)
    late = max((int(row["loser_steps"] or 0) for row in report.summary), default=0)
    report.claim("steps of a loser, the most in an answer", "<= 1", late, late <= 1)
    off = sum(int(row["off_tokens"] or 0) for row in report.summary)
    report.claim("tokens booked and not counted by an engine, or counted and not booked", "0", off, off == 0)


def points(shown: Sequence[Row]) -> list[Row]:
    """Return the points of the picture."""
    names = {"live": "live_mean_s", "simulated": "simulated_mean_s", "the faster side alone": "best_mean_s"}
    return [
        {"phase": row["phase"], "what": what, "ttft_s": row[column]} for row in shown for what, column in names.items()
    ]


def number(row: Row, name: str) -> float:
    """Return a figure that must be there."""
    value = row[name]
    assert isinstance(value, int | float), name
    return float(value)
