"""Test of the gate, which keeps at home what home can answer: calibrated on half the questions, measured on the rest.

Evidence is a gold passage among those that the gate looks at. Questions are asked at home, at another device (far), and
at home without the passages that hold the answer (near).
"""

from __future__ import annotations

import random
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, NamedTuple

import msgspec

from hocket_bus.messages import Passages
from hocket_daemon.graph.calibration import calibrate
from hocket_daemon.graph.gate import Calibration, Inputs, inputs, metric
from hocket_lab.bench.graph.collections import as_message
from hocket_lab.bench.graph.sets import Question, Sets
from hocket_lab.reporting.report import Report, Row
from hocket_retrieval.collection import Collection

PASSAGES = 4
NEAR_FROM = 24  # passages that are searched for those that hold no answer
COLUMNS = ("risk", "with_near", "splits", "above", "measured_risk", "kept_home", "kept_far", "kept_near", "threshold")
Kind = Literal["home", "far", "near"]


class Case(NamedTuple):
    """A question as it is asked somewhere: what was found, and whether it holds the evidence."""

    kind: Kind
    given: Inputs
    found: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's cases: at home, at every other device, and at home without its evidence."""

    home: Case
    near: Case
    remote: list[Case]


def ask_all(sets: Sets, collections: dict[str, Collection], questions: Sequence[Question]) -> list[Asked]:
    """Ask every question at every device."""
    return [_asked(question, collections) for question in questions if question.device in sets.documents]


def measure(report: Report, asked: Sequence[Asked], splits: int) -> Calibration:
    """Add a row for each split, risk and kind of calibration; returns the calibration of all questions."""
    for risk, with_near in ((0.2, False), (0.2, True), (0.1, False)):
        for seed in range(splits):
            if report.find(risk=risk, with_near=with_near, seed=seed) is None:
                report.add(_split(asked, risk, seed, with_near=with_near))
    return calibrate_all(asked)


def calibrate_all(asked: Sequence[Asked]) -> Calibration:
    """Calibrate on all questions, each at home and at one other device."""
    cases = _cases(asked, random.Random(0), with_near=False)
    return calibrate("", [case.given for case in cases], [case.found for case in cases])


def summary(report: Report) -> list[Row]:
    """Return a row for each risk, over all splits."""
    rows: list[Row] = []
    for risk, with_near in dict.fromkeys((row["risk"], row["with_near"]) for row in report.rows if "seed" in row):
        own = [row for row in report.rows if row.get("risk") == risk and row.get("with_near") == with_near]
        above = sum(float(row["measured_risk"] or 0) > float(risk or 0) for row in own)
        row: Row = {"risk": risk, "with_near": with_near, "splits": len(own), "above": above}
        rows.append(row | {name: _mean(own, name) for name in COLUMNS[4:]})
    return rows


def separations(asked: Sequence[Asked], calibration: Calibration) -> list[Row]:
    """Return how well each metric separates home with evidence from the rest: the area under its ROC curve."""
    found = [each.home for each in asked if each.home.found]
    others = {
        "far": [case for each in asked for case in each.remote],
        "near": [each.near for each in asked],
        "home without evidence": [each.home for each in asked if not each.home.found],
    }
    metrics: dict[str, Callable[[Inputs], float]] = {name: attrgetter(name) for name in Inputs.__annotations__}
    metrics["model"] = lambda given: metric(given, calibration)
    return [
        {
            "metric": name,
            "against": kind,
            "auroc": auroc([of(case.given) for case in found], [of(case.given) for case in cases]),
        }
        for name, of in metrics.items()
        for kind, cases in others.items()
    ]


def chosen_of(calibration: Calibration) -> Row:
    """Return the calibration of all questions, which `shipped.py` has, as a row."""
    text = ", ".join(f"{name} {weight:.4f}" for name, weight in calibration.weights._asdict().items())
    return {"metric": f"chosen: {text}, bias {calibration.bias:.4f}", "threshold": calibration.threshold}


def claim(report: Report) -> None:
    """Claim the aims of the issue."""
    row = next(row for row in report.summary if row["risk"] == 0.2 and not row["with_near"])
    above, splits = int(row["above"] or 0), int(row["splits"] or 0)
    report.claim("splits whose risk is above 0.2", f"≤ {splits // 10} of {splits}", above, above <= splits // 10)
    report.claim("home's questions kept", "≥ 0.85", float(row["kept_home"] or 0), float(row["kept_home"] or 0) >= 0.85)
    report.claim("far questions kept", "≤ 0.08", float(row["kept_far"] or 0), float(row["kept_far"] or 0) <= 0.08)


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return the probability that one of the first is above one of the second; ties count half."""
    ordered = sorted(negative)
    above = sum((bisect_left(ordered, value) + bisect_right(ordered, value)) / 2 for value in positive)
    return above / (len(positive) * len(negative))


def _asked(question: Question, collections: dict[str, Collection]) -> Asked:
    def found_at(name: str, k: int) -> Passages:
        return as_message(collections[name].search(question.text, k))

    def holds(passages: Passages) -> bool:
        return any(question.gold.holds(each.document, each.text) for each in passages.passages)

    at_home = found_at(question.device, NEAR_FROM)
    best = msgspec.structs.replace(at_home, passages=at_home.passages[:PASSAGES])
    without = [each for each in at_home.passages if not question.gold.holds(each.document, each.text)][:PASSAGES]
    near = msgspec.structs.replace(at_home, passages=without)
    remote = [
        Case("far", inputs(question.text, found_at(name, PASSAGES)), False)
        for name in collections
        if name != question.device
    ]
    return Asked(
        Case("home", inputs(question.text, best), holds(best)), Case("near", inputs(question.text, near), False), remote
    )


def _split(asked: Sequence[Asked], risk: float, seed: int, *, with_near: bool) -> Row:
    source = random.Random(seed)
    order = list(asked)
    source.shuffle(order)
    half = len(order) // 2
    ours, theirs = (_cases(part, source, with_near=with_near) for part in (order[:half], order[half:]))
    chosen = calibrate("", [case.given for case in ours], [case.found for case in ours], risk)
    kept = [case for case in theirs if metric(case.given, chosen) >= chosen.threshold]
    row: Row = {"risk": risk, "with_near": with_near, "seed": seed, "threshold": chosen.threshold}
    row["measured_risk"] = sum(not case.found for case in kept) / max(1, len(kept))
    for kind in ("home", "far", "near"):
        total = sum(case.kind == kind for case in theirs)
        row[f"kept_{kind}"] = sum(case.kind == kind for case in kept) / total if total else None
    return row


def _cases(asked: Sequence[Asked], source: random.Random, *, with_near: bool) -> list[Case]:
    """Return each question's cases at home, at one other device and, if wanted, without its evidence."""
    cases = []
    for each in asked:
        cases += [each.home, source.choice(each.remote)] + ([each.near] if with_near else [])
    return cases


def _mean(rows: Sequence[Row], name: str) -> float | None:
    values = [float(row[name] or 0) for row in rows if row[name] is not None]
    return statistics.fmean(values) if values else None
